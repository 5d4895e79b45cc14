//go:build cgo

/* A part of the sample game, compiled into the host with its functions hidden. */
#define COLLET_EXPORT __attribute__((visibility("hidden")))
#include "../sample/game/module.c"

//go:build cgo

/* A part of the sample game, compiled into the host with its functions hidden. */
#define COLLET_EXPORT /* hidden, by the compiler's flags */
#include "../sample/game/config.c"

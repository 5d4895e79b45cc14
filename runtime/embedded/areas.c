//go:build cgo

/* The game's look at its areas: linked into the host it has none of its own, and the host's count. */
#include "../sample/game/areas.h"

#include "bridge.h"

static const char* config; /* NULL: the host was not packaged */
static size_t config_size;
static const char* name;

void collet_embedded_packaged(const char* text, size_t size, const char* called) {
    config = text;
    config_size = size;
    name = called;
}

const char* areas_config(size_t* size) {
    *size = config_size;
    return config;
}

const char* areas_name(void) { return name; }

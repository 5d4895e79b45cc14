/* art.h: what the game shows, as it came out of the packs. */
#ifndef SAMPLE_ART_H
#define SAMPLE_ART_H

#include <stdint.h>

#include "pack.h"

/* A picture of ARGB pixels, top row first. Transparent pixels are zero. */
typedef struct Picture {
    int width, height;
    uint32_t* pixels;
} Picture;

enum { ART_TITLE = 64, ART_GREETING = 96, ART_MAX_ITEMS = 64 };

typedef struct Art {
    char title[ART_TITLE];
    char greeting[ART_GREETING];
    uint32_t background, panel, accent; /* 0xAARRGGBB */
    int items;
    Picture font, player, item;
} Art;

/* Reads Core.zip and Art.zip. Returns 0, or -1 with the reason in error (PACK_ERROR_SIZE bytes). */
int art_load(Art* art, const Packs* where, char* error);

void art_free(Art* art);

#endif

/* art.c: the text and the pictures of the packs. */
#include "art.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest side of a picture, in pixels. */
enum { MAX_SIDE = 2048 };

static const uint32_t magenta = 0xFFFF00FFu; /* the transparent colour of the packs */

static uint32_t u16(const unsigned char* p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const unsigned char* p) { return u16(p) | u16(p + 2) << 16; }

static int fail(char* error, const char* what, const char* reason) {
    snprintf(error, PACK_ERROR_SIZE, "%s: %s", what, reason);
    return -1;
}

static uint32_t pixel_at(const unsigned char* p) {
    uint32_t value = 0xFF000000u | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
    return value == magenta ? 0 : value;
}

/* Reads an uncompressed bottom-up BMP of 24 or 32 bits. */
static int read_bmp(Picture* picture, Span file, const char* name, char* error) {
    const unsigned char* b = file.bytes;
    size_t offset, stride, width, height, x, y;
    int bytes;
    if (file.size < 54 || b[0] != 'B' || b[1] != 'M') {
        return fail(error, name, "is not a BMP picture");
    }
    offset = u32(b + 10);
    width = u32(b + 18);
    height = u32(b + 22);
    bytes = (int)u16(b + 28) / 8;
    if ((bytes != 3 && bytes != 4) || u32(b + 30) != 0) {
        return fail(error, name, "is a BMP that is not uncompressed 24 or 32 bit");
    }
    if (width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE) {
        return fail(error, name, "has sides that the game does not draw");
    }
    stride = (width * (size_t)bytes + 3) / 4 * 4;
    if (offset > file.size || file.size - offset < stride * height) {
        return fail(error, name, "ends before its last row");
    }
    picture->pixels = malloc(width * height * sizeof *picture->pixels);
    if (picture->pixels == NULL) {
        return fail(error, name, "does not fit into memory");
    }
    picture->width = (int)width;
    picture->height = (int)height;
    for (y = 0; y < height; y++) {
        const unsigned char* row = b + offset + (height - 1 - y) * stride;
        for (x = 0; x < width; x++) {
            picture->pixels[y * width + x] = pixel_at(row + x * (size_t)bytes);
        }
    }
    return 0;
}

/* Copies at most size - 1 printable ASCII characters. */
static void copy_text(char* to, size_t size, const char* from, size_t n) {
    size_t i, used = 0;
    for (i = 0; i < n && used + 1 < size; i++) {
        if (from[i] >= ' ' && from[i] <= '~') {
            to[used++] = from[i];
        }
    }
    to[used] = 0;
}

/* Reads a whole number in a base, of exactly so many digits or, with 0, of any. */
static bool number(const char* text, int base, size_t digits, long* value) {
    char* end;
    if (!isxdigit((unsigned char)text[0]) || (digits != 0 && strlen(text) != digits)) {
        return false;
    }
    *value = strtol(text, &end, base);
    return *end == 0;
}

static uint32_t colour(const char* text, uint32_t fallback) {
    long value;
    return text[0] == '#' && number(text + 1, 16, 6, &value) ? 0xFF000000u | (uint32_t)value : fallback;
}

static void take_line(Art* art, const char* key, size_t length, const char* value, size_t size) {
    char text[ART_GREETING];
    copy_text(text, sizeof text, value, size);
#define KEY(name) (length == sizeof name - 1 && memcmp(key, name, sizeof name - 1) == 0)
    if (KEY("title")) {
        copy_text(art->title, sizeof art->title, value, size);
    } else if (KEY("greeting")) {
        copy_text(art->greeting, sizeof art->greeting, value, size);
    } else if (KEY("background")) {
        art->background = colour(text, art->background);
    } else if (KEY("panel")) {
        art->panel = colour(text, art->panel);
    } else if (KEY("accent")) {
        art->accent = colour(text, art->accent);
    } else if (KEY("items")) {
        long items;
        art->items = number(text, 10, 0, &items) && items <= ART_MAX_ITEMS ? (int)items : 0;
    }
#undef KEY
}

static int read_text(Art* art, Span file, char* error) {
    const char *at = (const char*)file.bytes, *end = at + file.size;
    while (at < end) {
        const char* newline = memchr(at, '\n', (size_t)(end - at));
        const char* stop = newline != NULL ? newline : end;
        const char* equals = memchr(at, '=', (size_t)(stop - at));
        if (equals != NULL) {
            take_line(art, at, (size_t)(equals - at), equals + 1, (size_t)(stop - equals - 1));
        }
        at = stop + 1;
    }
    if (art->title[0] == 0) {
        return fail(error, "game.txt", "has no title");
    }
    if (art->items < 1 || art->items > ART_MAX_ITEMS) {
        return fail(error, "game.txt", "items is not between 1 and 64");
    }
    return 0;
}

static int read_picture(Picture* picture, const Pack* pack, const char* name, char* error) {
    Span found;
    return pack_find(pack, name, &found, error) == 0 ? read_bmp(picture, found, name, error) : -1;
}

static int load_pictures(Art* art, const Packs* where, char* error) {
    Pack pack = {0};
    bool well;
    if (pack_open(&pack, where, "Art.zip", error) != 0) {
        return -1;
    }
    well = read_picture(&art->font, &pack, "font.bmp", error) == 0 &&
           read_picture(&art->player, &pack, "player.bmp", error) == 0 &&
           read_picture(&art->item, &pack, "item.bmp", error) == 0;
    pack_close(&pack);
    if (well && (art->font.width % 16 != 0 || art->font.height % 6 != 0)) {
        return fail(error, "font.bmp", "does not divide into 16 by 6 cells");
    }
    return well ? 0 : -1;
}

static int load_text(Art* art, const Packs* where, char* error) {
    Pack pack = {0};
    Span found;
    int result;
    if (pack_open(&pack, where, "Core.zip", error) != 0) {
        return -1;
    }
    result = pack_find(&pack, "game.txt", &found, error) == 0 ? read_text(art, found, error) : -1;
    pack_close(&pack);
    return result;
}

int art_load(Art* art, const Packs* where, char* error) {
    memset(art, 0, sizeof *art);
    art->background = 0xFF101418u;
    art->panel = 0xFF202830u;
    art->accent = 0xFFE0E0E0u;
    if (load_text(art, where, error) != 0 || load_pictures(art, where, error) != 0) {
        art_free(art);
        return -1;
    }
    return 0;
}

void art_free(Art* art) {
    free(art->font.pixels);
    free(art->player.pixels);
    free(art->item.pixels);
    art->font.pixels = art->player.pixels = art->item.pixels = NULL;
}

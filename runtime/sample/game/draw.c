/* draw.c: clipped drawing into memory, so that the game needs nothing of a graphics library but showing a frame. */
#include "draw.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    FONT_COLUMNS = 16,
    FONT_ROWS = 6,
    FIRST_GLYPH = ' ',
    LAST_GLYPH = '~',
    SHADE = 110 /* how dark a shadow is, of 255 */
};

static int clip(int value, int high) { return value < 0 ? 0 : value > high ? high : value; }

static bool inside(int x, int y) { return x >= 0 && y >= 0 && x < FIELD_WIDTH && y < FIELD_HEIGHT; }

void draw_box(Frame* frame, int x, int y, int width, int height, uint32_t colour) {
    int left = clip(x, FIELD_WIDTH), right = clip(x + width, FIELD_WIDTH), bottom = clip(y + height, FIELD_HEIGHT);
    for (int row = clip(y, FIELD_HEIGHT); row < bottom; row++) {
        for (int column = left; column < right; column++) {
            frame->pixels[row * FIELD_WIDTH + column] = colour;
        }
    }
}

void draw_picture(Frame* frame, const Picture* picture, int x, int y) {
    for (int row = 0; row < picture->height; row++) {
        for (int column = 0; column < picture->width; column++) {
            uint32_t colour = picture->pixels[row * picture->width + column];
            if (colour != 0 && inside(x + column, y + row)) {
                frame->pixels[(y + row) * FIELD_WIDTH + x + column] = colour;
            }
        }
    }
}

void draw_shadow(Frame* frame, const Picture* picture, int x, int y) {
    for (int row = 0; row < picture->height; row++) {
        for (int column = 0; column < picture->width; column++) {
            if (picture->pixels[row * picture->width + column] != 0 && inside(x + column, y + row)) {
                uint32_t* pixel = &frame->pixels[(y + row) * FIELD_WIDTH + x + column];
                *pixel = draw_mix(*pixel, 0xFF000000u, SHADE);
            }
        }
    }
}

static uint32_t mix_part(uint32_t first, uint32_t second, unsigned part, int shift) {
    uint32_t a = first >> shift & 0xFF, b = second >> shift & 0xFF;
    return (a * (255 - part) + b * part) / 255 << shift;
}

uint32_t draw_mix(uint32_t first, uint32_t second, unsigned part) {
    return 0xFF000000u | mix_part(first, second, part, 16) | mix_part(first, second, part, 8) | mix_part(first, second, part, 0);
}

static bool drawable(char c) { return c >= FIRST_GLYPH && c <= LAST_GLYPH; }

static void glyph(Frame* frame, const Picture* font, int x, int y, int scale, uint32_t colour, int code) {
    int width = font->width / FONT_COLUMNS, height = font->height / FONT_ROWS, index = code - FIRST_GLYPH;
    const uint32_t* corner = font->pixels + index / FONT_COLUMNS * height * font->width + index % FONT_COLUMNS * width;
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            if (corner[row * font->width + column] != 0) {
                draw_box(frame, x + column * scale, y + row * scale, scale, scale, colour);
            }
        }
    }
}

int draw_text(Frame* frame, const Picture* font, int x, int y, int scale, uint32_t colour, const char* text) {
    int start = x;
    for (; *text != 0; text++) {
        if (drawable(*text)) {
            glyph(frame, font, x, y, scale, colour, *text);
            x += font->width / FONT_COLUMNS * scale;
        }
    }
    return x - start;
}

int text_width(const Picture* font, int scale, const char* text) {
    int width = 0;
    for (; *text != 0; text++) {
        width += drawable(*text) ? font->width / FONT_COLUMNS * scale : 0;
    }
    return width;
}

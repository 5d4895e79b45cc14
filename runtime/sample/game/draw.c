/* draw.c: clipped drawing into memory, so that the game needs nothing of a graphics library but showing a frame. */
#include "draw.h"

#include <string.h>

static void point(Frame* frame, int x, int y, uint32_t colour) {
    if (x >= 0 && y >= 0 && x < FIELD_WIDTH && y < FIELD_HEIGHT) {
        frame->pixels[y * FIELD_WIDTH + x] = colour;
    }
}

void draw_box(Frame* frame, int x, int y, int width, int height, uint32_t colour) {
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            point(frame, x + column, y + row, colour);
        }
    }
}

void draw_picture(Frame* frame, const Picture* picture, int x, int y) {
    for (int row = 0; row < picture->height; row++) {
        for (int column = 0; column < picture->width; column++) {
            uint32_t colour = picture->pixels[row * picture->width + column];
            if (colour != 0) {
                point(frame, x + column, y + row, colour);
            }
        }
    }
}

static void glyph(Frame* frame, const Picture* font, int x, int y, int scale, uint32_t colour, int code) {
    int width = font->width / 16, height = font->height / 6;
    const uint32_t* corner = font->pixels + (code - 32) / 16 * height * font->width + (code - 32) % 16 * width;
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
        if (*text >= 32 && *text < 127) {
            glyph(frame, font, x, y, scale, colour, *text);
            x += font->width / 16 * scale;
        }
    }
    return x - start;
}

int text_width(const Picture* font, int scale, const char* text) {
    return (int)strlen(text) * (font->width / 16) * scale;
}

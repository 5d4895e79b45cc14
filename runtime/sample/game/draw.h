/* draw.h: drawing into memory. Whatever lies outside of the frame is left out. */
#ifndef SAMPLE_DRAW_H
#define SAMPLE_DRAW_H

#include "art.h"

enum { FIELD_WIDTH = 960, FIELD_HEIGHT = 600 };

/* A frame of ARGB pixels. It is too large for a stack. */
typedef struct Frame {
    uint32_t pixels[FIELD_WIDTH * FIELD_HEIGHT];
} Frame;

void draw_box(Frame* frame, int x, int y, int width, int height, uint32_t colour);
void draw_picture(Frame* frame, const Picture* picture, int x, int y);

/* Darkens what is under a picture. */
void draw_shadow(Frame* frame, const Picture* picture, int x, int y);

/* A colour between two: 0 gives the first, 255 the second. */
uint32_t draw_mix(uint32_t first, uint32_t second, unsigned part);

/* Draws text with the font picture, every pixel of it scale pixels large. Anything but printable ASCII is left out. Returns
 * the width. */
int draw_text(Frame* frame, const Picture* font, int x, int y, int scale, uint32_t colour, const char* text);

/* The width that draw_text would need. */
int text_width(const Picture* font, int scale, const char* text);

#endif

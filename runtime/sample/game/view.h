/* view.h: a window through SDL2, which is looked for when the game runs and needed by nobody. */
#ifndef SAMPLE_VIEW_H
#define SAMPLE_VIEW_H

#include <stdbool.h>

#include "draw.h"

/* What the player does at this moment. */
typedef struct Input {
    bool quit;
    bool left, right, up, down;
} Input;

typedef struct View View;

/* Opens the window. Returns NULL with the reason in error (PACK_ERROR_SIZE bytes) where there is no SDL2 or no display. */
View* view_open(const char* title, char* error);

/* Shows a frame and waits for the screen or for a sixtieth of a second. */
void view_show(View* view, const Frame* frame);

/* Takes what happened since the last call. */
void view_input(View* view, Input* input);

/* Milliseconds since the window was opened. */
unsigned view_clock(View* view);

void view_close(View* view);

#endif

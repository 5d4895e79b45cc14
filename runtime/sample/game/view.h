/* view.h: a window through SDL2, which is optional and loaded at run time; on Windows without it. */
#ifndef SAMPLE_VIEW_H
#define SAMPLE_VIEW_H

#include <stdbool.h>

#include "draw.h"
#include "world.h"

/* What the player does at this moment. */
typedef struct Input {
    bool quit;
    Steer steer;
} Input;

typedef struct View View;

/* Opens the window. Returns NULL with the reason in error (PACK_ERROR_SIZE bytes) where there is no window to be had. */
View* view_open(const char* title, char* error);

/* Shows a frame, and waits until a sixtieth of a second has passed since the one before. Returns whether it was handed to
 * the display. */
bool view_show(View* view, const Frame* frame);

/* Takes what happened since the last call. */
void view_input(View* view, Input* input);

/* Closes the window and ends SDL. The library itself stays loaded until the process ends: what it has loaded in its turn
 * (a display's client library, a graphics driver) may have left code behind that is yet to be called. */
void view_close(View* view);

#endif

/* native.h: a window through the system's own calls, for systems that come without SDL2: Windows. Elsewhere there is none. */
#ifndef SAMPLE_NATIVE_H
#define SAMPLE_NATIVE_H

#include "view.h"

typedef struct Native Native;

/* Opens the window. Returns NULL with the reason in error (PACK_ERROR_SIZE bytes). The window belongs to the calling thread,
 * and so do all calls that follow. */
Native* native_open(const char* title, char* error);

/* Shows a frame, and waits until a sixtieth of a second has passed since the one before. */
bool native_show(Native* native, const Frame* frame);

/* Takes what happened since the last call. */
void native_input(Native* native, Input* input);

void native_close(Native* native);

#endif

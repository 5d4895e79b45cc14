/*
 * view.c: SDL2, loaded at run time; where it can't show a window, the system's own (native.h). Only what the game calls is
 * declared here, in our own words; the layouts are those of SDL 2.0's stable binary interface.
 */
#include "view.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native.h"
#include "system.h"

/* Where SDL2 may be, by system: Linux, other Unix systems, Windows, macOS with its loader's folders and with Homebrew's. */
static const char* const libraries[] = {
    "libSDL2-2.0.so.0", "libSDL2.so", "SDL2.dll", "libSDL2-2.0.0.dylib",
    "/opt/homebrew/lib/libSDL2-2.0.0.dylib", "/usr/local/lib/libSDL2-2.0.0.dylib",
};

/* Numbers of SDL's interface. */
enum {
    INIT_VIDEO = 0x20,
    CENTERED = 0x2FFF0000,
    ARGB8888 = 0x16362004,
    STREAMING = 1,
    RENDERER_SOFTWARE = 1,
    RENDERER_ANY = 0,
    WINDOW_RESIZABLE = 0x20,
    EVENT_QUIT = 0x100,
    EVENT_KEY_DOWN = 0x300,
    EVENT_KEY_UP = 0x301,
    KEY_A = 4, KEY_D = 7, KEY_S = 22, KEY_W = 26,
    KEY_ESCAPE = 41, KEY_RIGHT = 79, KEY_LEFT = 80, KEY_DOWN = 81, KEY_UP = 82
};

/* An event: its type, and for keys the scan code 16 bytes in. SDL writes 56 bytes. */
typedef union Event {
    uint32_t type;
    struct {
        uint32_t type, time, window;
        uint8_t state, repeat, unused[2];
        int32_t scancode;
    } key;
    unsigned char room[128];
} Event;

enum { FRAME_TIME = 16 }; /* milliseconds: a sixtieth of a second */

/* The functions that are used. */
typedef struct Functions {
    int (*SetHint)(const char*, const char*);
    int (*Init)(uint32_t);
    void (*Quit)(void);
    const char* (*GetError)(void);
    const char* (*GetCurrentVideoDriver)(void);
    void* (*CreateWindow)(const char*, int, int, int, int, uint32_t);
    void* (*CreateRenderer)(void*, int, uint32_t);
    void* (*CreateTexture)(void*, uint32_t, int, int, int);
    int (*UpdateTexture)(void*, const void*, const void*, int);
    int (*RenderCopy)(void*, void*, const void*, const void*);
    void (*RenderPresent)(void*);
    int (*RenderSetLogicalSize)(void*, int, int);
    int (*RenderClear)(void*);
    int (*PollEvent)(Event*);
    uint32_t (*GetTicks)(void);
    void (*Delay)(uint32_t);
    void (*DestroyTexture)(void*);
    void (*DestroyRenderer)(void*);
    void (*DestroyWindow)(void*);
} Functions;

struct View {
    Native* native; /* the window where SDL2 has none; NULL otherwise */
    Functions sdl;
    void *window, *renderer, *texture;
    bool started;
    uint32_t shown; /* when the last frame was */
    Input held;
};

/* Looks all functions up. Returns the name of the first one that is missing, or NULL. */
static const char* bind(View* view, void* library) {
    static const struct {
        const char* name;
        size_t at;
    } table[] = {
        {"SDL_SetHint", offsetof(Functions, SetHint)},
        {"SDL_Init", offsetof(Functions, Init)},
        {"SDL_Quit", offsetof(Functions, Quit)},
        {"SDL_GetError", offsetof(Functions, GetError)},
        {"SDL_GetCurrentVideoDriver", offsetof(Functions, GetCurrentVideoDriver)},
        {"SDL_CreateWindow", offsetof(Functions, CreateWindow)},
        {"SDL_CreateRenderer", offsetof(Functions, CreateRenderer)},
        {"SDL_CreateTexture", offsetof(Functions, CreateTexture)},
        {"SDL_UpdateTexture", offsetof(Functions, UpdateTexture)},
        {"SDL_RenderCopy", offsetof(Functions, RenderCopy)},
        {"SDL_RenderPresent", offsetof(Functions, RenderPresent)},
        {"SDL_RenderSetLogicalSize", offsetof(Functions, RenderSetLogicalSize)},
        {"SDL_RenderClear", offsetof(Functions, RenderClear)},
        {"SDL_PollEvent", offsetof(Functions, PollEvent)},
        {"SDL_GetTicks", offsetof(Functions, GetTicks)},
        {"SDL_Delay", offsetof(Functions, Delay)},
        {"SDL_DestroyTexture", offsetof(Functions, DestroyTexture)},
        {"SDL_DestroyRenderer", offsetof(Functions, DestroyRenderer)},
        {"SDL_DestroyWindow", offsetof(Functions, DestroyWindow)},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void* address = system_symbol(library, table[i].name);
        if (address == NULL) {
            return table[i].name;
        }
        memcpy((char*)&view->sdl + table[i].at, &address, sizeof address);
    }
    return NULL;
}

static bool find_library(View* view, char* error) {
    const char* missing;
    void* library = NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && library == NULL; i++) {
        library = system_open_library(libraries[i]);
    }
    if (library == NULL) {
        snprintf(error, PACK_ERROR_SIZE, "SDL2 is not installed");
        return false;
    }
    missing = bind(view, library);
    if (missing != NULL) {
        snprintf(error, PACK_ERROR_SIZE, "SDL2 has no %s", missing);
        return false;
    }
    return true;
}

/* One picture a frame needs no graphics driver: without one the window is up in 25 ms instead of 400, and no driver's
 * threads are left behind. Where SDL2 can show a window only through a driver, any will do. */
static void make_renderer(View* view) {
    static const uint32_t kinds[] = {RENDERER_SOFTWARE, RENDERER_ANY};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && view->renderer == NULL; i++) {
        view->sdl.SetHint("SDL_FRAMEBUFFER_ACCELERATION", kinds[i] == RENDERER_SOFTWARE ? "0" : "1");
        view->renderer = view->sdl.CreateRenderer(view->window, -1, kinds[i]);
    }
}

/* Where there is no display some versions of SDL2 choose a driver without output. */
static bool has_display(const Functions* sdl) {
    static const char* const blind[] = {"offscreen", "dummy", "evdev"};
    const char* driver = sdl->GetCurrentVideoDriver();
    for (size_t i = 0; i < sizeof blind / sizeof *blind; i++) {
        if (driver == NULL || strcmp(driver, blind[i]) == 0) {
            return false;
        }
    }
    return true;
}

static bool make_window(View* view, const char* title, char* error) {
    Functions* sdl = &view->sdl;
    sdl->SetHint("SDL_NO_SIGNAL_HANDLERS", "1"); /* a module replaces none */
    view->started = sdl->Init(INIT_VIDEO) == 0;
    if (view->started && !has_display(sdl)) {
        snprintf(error, PACK_ERROR_SIZE, "SDL2 finds no display");
        return false;
    }
    if (view->started) {
        view->window = sdl->CreateWindow(title, CENTERED, CENTERED, FIELD_WIDTH, FIELD_HEIGHT, WINDOW_RESIZABLE);
    }
    if (view->window != NULL) {
        make_renderer(view);
    }
    if (view->renderer != NULL) {
        sdl->RenderSetLogicalSize(view->renderer, FIELD_WIDTH, FIELD_HEIGHT);
        view->texture = sdl->CreateTexture(view->renderer, ARGB8888, STREAMING, FIELD_WIDTH, FIELD_HEIGHT);
    }
    if (view->texture == NULL) {
        snprintf(error, PACK_ERROR_SIZE, "SDL2 opens no window: %.1000s", sdl->GetError());
        return false;
    }
    return true;
}

View* view_open(const char* title, char* error) {
    View* view = calloc(1, sizeof *view);
    if (view == NULL) {
        snprintf(error, PACK_ERROR_SIZE, "no memory for a window");
        return NULL;
    }
    if (find_library(view, error) && make_window(view, title, error)) {
        return view;
    }
    view->native = native_open(title, error);
    if (view->native == NULL) {
        view_close(view);
        return NULL;
    }
    return view;
}

bool view_show(View* view, const Frame* frame) {
    Functions* sdl = &view->sdl;
    uint32_t passed;
    bool shown;
    if (view->native != NULL) {
        return native_show(view->native, frame);
    }
    shown = sdl->UpdateTexture(view->texture, NULL, frame->pixels, FIELD_WIDTH * (int)sizeof *frame->pixels) == 0 &&
            sdl->RenderClear(view->renderer) == 0 && sdl->RenderCopy(view->renderer, view->texture, NULL, NULL) == 0;
    sdl->RenderPresent(view->renderer);
    passed = sdl->GetTicks() - view->shown;
    if (passed < FRAME_TIME) {
        sdl->Delay(FRAME_TIME - passed);
    }
    view->shown = sdl->GetTicks();
    return shown;
}

static void key(Input* input, int32_t scancode, bool down) {
    switch (scancode) {
    case KEY_ESCAPE: input->quit = input->quit || down; break;
    case KEY_LEFT: case KEY_A: input->steer.left = down; break;
    case KEY_RIGHT: case KEY_D: input->steer.right = down; break;
    case KEY_UP: case KEY_W: input->steer.up = down; break;
    case KEY_DOWN: case KEY_S: input->steer.down = down; break;
    default: break;
    }
}

void view_input(View* view, Input* input) {
    Event event;
    if (view->native != NULL) {
        native_input(view->native, input);
        return;
    }
    while (view->sdl.PollEvent(&event) != 0) {
        if (event.type == EVENT_QUIT) {
            view->held.quit = true;
        } else if (event.type == EVENT_KEY_DOWN || event.type == EVENT_KEY_UP) {
            key(&view->held, event.key.scancode, event.type == EVENT_KEY_DOWN);
        }
    }
    *input = view->held;
}

void view_close(View* view) {
    native_close(view->native);
    if (view->texture != NULL) {
        view->sdl.DestroyTexture(view->texture);
    }
    if (view->renderer != NULL) {
        view->sdl.DestroyRenderer(view->renderer);
    }
    if (view->window != NULL) {
        view->sdl.DestroyWindow(view->window);
    }
    if (view->started) {
        view->sdl.Quit();
    }
    free(view);
}

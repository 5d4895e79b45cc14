/*
 * view.c: SDL2, loaded at run time. Only what the game calls is declared here, in our own words; the layouts are those of
 * SDL 2.0's stable binary interface.
 */
#include "view.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h>
static const char* const libraries[] = {"SDL2.dll"};
static void* library_open(const char* name) { return (void*)LoadLibraryA(name); }
static void* library_symbol(void* library, const char* name) { return (void*)(uintptr_t)GetProcAddress((HMODULE)library, name); }
static void library_close(void* library) { FreeLibrary((HMODULE)library); }
#else
#include <dlfcn.h>
static const char* const libraries[] = {"libSDL2-2.0.so.0", "libSDL2.so", "libSDL2-2.0.0.dylib", "libSDL2.dylib"};
static void* library_open(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
static void* library_symbol(void* library, const char* name) { return dlsym(library, name); }
static void library_close(void* library) { dlclose(library); }
#endif

/* Numbers of SDL's interface. */
enum {
    INIT_VIDEO = 0x20,
    CENTERED = 0x2FFF0000,
    ARGB8888 = 0x16362004,
    STREAMING = 1,
    PRESENT_VSYNC = 4,
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

/* The functions that are used. A pointer to a function is copied as bytes, because C has no cast from an object. */
typedef struct Functions {
    int (*SetHint)(const char*, const char*);
    int (*Init)(uint32_t);
    void (*Quit)(void);
    const char* (*GetError)(void);
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
    void* library;
    Functions sdl;
    void *window, *renderer, *texture;
    bool started;
    uint32_t shown; /* when the last frame was */
    Input held;
};

/* Looks all functions up. Returns the name of the first one that is missing, or NULL. */
static const char* bind(View* view) {
    static const struct {
        const char* name;
        size_t at;
    } table[] = {
        {"SDL_SetHint", offsetof(Functions, SetHint)},
        {"SDL_Init", offsetof(Functions, Init)},
        {"SDL_Quit", offsetof(Functions, Quit)},
        {"SDL_GetError", offsetof(Functions, GetError)},
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
        void* address = library_symbol(view->library, table[i].name);
        if (address == NULL) {
            return table[i].name;
        }
        memcpy((char*)&view->sdl + table[i].at, &address, sizeof address);
    }
    return NULL;
}

static bool find_library(View* view, char* error) {
    const char* missing;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && view->library == NULL; i++) {
        view->library = library_open(libraries[i]);
    }
    if (view->library == NULL) {
        snprintf(error, PACK_ERROR_SIZE, "SDL2 is not installed");
        return false;
    }
    missing = bind(view);
    if (missing != NULL) {
        snprintf(error, PACK_ERROR_SIZE, "SDL2 has no %s", missing);
        return false;
    }
    return true;
}

static bool make_window(View* view, const char* title, char* error) {
    Functions* sdl = &view->sdl;
    sdl->SetHint("SDL_NO_SIGNAL_HANDLERS", "1"); /* a module replaces none */
    view->started = sdl->Init(INIT_VIDEO) == 0;
    if (view->started) {
        view->window = sdl->CreateWindow(title, CENTERED, CENTERED, FIELD_WIDTH, FIELD_HEIGHT, 0);
    }
    if (view->window != NULL) {
        view->renderer = sdl->CreateRenderer(view->window, -1, PRESENT_VSYNC);
    }
    if (view->renderer == NULL && view->window != NULL) {
        view->renderer = sdl->CreateRenderer(view->window, -1, 0);
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
    if (!find_library(view, error) || !make_window(view, title, error)) {
        view_close(view);
        return NULL;
    }
    return view;
}

void view_show(View* view, const Frame* frame) {
    uint32_t now;
    view->sdl.UpdateTexture(view->texture, NULL, frame->pixels, FIELD_WIDTH * (int)sizeof *frame->pixels);
    view->sdl.RenderClear(view->renderer);
    view->sdl.RenderCopy(view->renderer, view->texture, NULL, NULL);
    view->sdl.RenderPresent(view->renderer);
    now = view->sdl.GetTicks();
    if (now - view->shown < 16) {
        view->sdl.Delay(16 - (now - view->shown)); /* software renderers don't wait for the screen */
    }
    view->shown = view->sdl.GetTicks();
}

static void key(Input* input, int32_t scancode, bool down) {
    switch (scancode) {
    case KEY_ESCAPE: input->quit = input->quit || down; break;
    case KEY_LEFT: case KEY_A: input->left = down; break;
    case KEY_RIGHT: case KEY_D: input->right = down; break;
    case KEY_UP: case KEY_W: input->up = down; break;
    case KEY_DOWN: case KEY_S: input->down = down; break;
    default: break;
    }
}

void view_input(View* view, Input* input) {
    Event event;
    while (view->sdl.PollEvent(&event) != 0) {
        if (event.type == EVENT_QUIT) {
            view->held.quit = true;
        } else if (event.type == EVENT_KEY_DOWN || event.type == EVENT_KEY_UP) {
            key(&view->held, event.key.scancode, event.type == EVENT_KEY_DOWN);
        }
    }
    *input = view->held;
}

unsigned view_clock(View* view) { return view->sdl.GetTicks(); }

void view_close(View* view) {
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
    if (view->library != NULL) {
        library_close(view->library);
    }
    free(view);
}

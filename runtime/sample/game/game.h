/* game.h: the sample game behind its ABI. */
#ifndef SAMPLE_GAME_H
#define SAMPLE_GAME_H

#include <stdbool.h>

#include "pack.h"

/* What the command line asks for. Everything that ends the game in a bad way is there to test hosts with. */
typedef struct Options {
    const char* host;  /* argv[0] */
    const char* packaged;     /* --packaged NAME: the host's name in its package; NULL for none */
    const char* force_opengl; /* --ForceOpenGL VALUE, before what is packaged; NULL for neither */
    const char* link;         /* --DeepLinkUri URI: what opened the game; NULL for nothing */
    const char* title;        /* what packaging calls the game; NULL for nothing */
    const char* server; /* --server ADDRESS:PORT: a game server that plays along; NULL for none */
    int logic;         /* --logic N: play by the rules of an older logic version; from 1 to the build's own */
    Packs packs;       /* --ClientResources DIR, --ClientResourcesPatched DIR, --ClientResourcesList FILE */
    bool headless;     /* --headless: read the packs, say what is in them, end */
    bool never_ready;  /* --never-ready: do not tell the host that the first frame is on the screen */
    bool ask_reload;   /* --ask-reload: end after the first frame by asking for a reload of the live module */
    bool fatal;        /* --fatal: end after the first frame by reporting a fatal error */
    bool crash;        /* --crash: write through a null pointer, before the first frame */
    bool crash_thread; /* --crash-thread: the same on a thread of the game's own */
    bool hang;         /* --hang: never return */
    bool late;         /* --late: crash, hang or exit only after the first frame, when the host was told of it */
    int call_exit;     /* --call-exit N: call exit(N), which modules must not; -1 for not */
    long frames;       /* --frames N: end after so many frames; 0 for never */
} Options;

/* What the game says to its host. */
typedef struct Speech {
    void (*ready)(void);
    void (*log)(int level, const char* text);
    bool (*stopping)(void); /* the host wants the game to end */
} Speech;

/* Which build this is. */
typedef struct Build {
    int release;
    const char* compatibility;
} Build;

/* Runs the game to its end. Returns whether all went well. */
bool game_run(const Options* options, const Build* build, const Speech* speech);

/* Does what --crash, --hang and their like ask for; returns if nothing was asked for. */
void mischief(const Options* options);

#endif

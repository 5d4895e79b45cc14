/*
 * module.c: the sample game as a runtime module. GAME_RELEASE, GAME_COMPATIBILITY and GAME_BUILD_HASH say which build
 * it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../abi/client_runtime.h"
#include "game.h"

#ifndef GAME_RELEASE
#define GAME_RELEASE 1
#endif
#ifndef GAME_COMPATIBILITY
#define GAME_COMPATIBILITY "lathe-2026.1"
#endif
#ifndef GAME_BUILD_HASH
#define GAME_BUILD_HASH "unpublished"
#endif

#if defined(_WIN32)
#define LIBRARY_EXT ".dll"
#elif defined(__APPLE__)
#define LIBRARY_EXT ".dylib"
#else
#define LIBRARY_EXT ".so"
#endif

static const ColletHostServices* services; /* NULL: the host offers none */
static char live[4096];                    /* the path for a reload; it lives until the module is unloaded */

static void ready(void) {
    if (services != NULL && services->Ready != NULL) {
        services->Ready(services->Context);
    }
}

static void say(int level, const char* text) {
    if (services != NULL && services->Log != NULL) {
        services->Log(services->Context, level, text);
    } else {
        fprintf(stderr, "%s\n", text);
    }
}

/* One switch without a value, or one with. Returns how many arguments it took. */
static int take(Options* o, char** at, int left) {
    const char* value = left > 1 ? at[1] : NULL;
#define IS(name) (strcmp(at[0], name) == 0)
    if (IS("--headless")) {
        o->headless = true;
    } else if (IS("--never-ready")) {
        o->never_ready = true;
    } else if (IS("--ask-reload")) {
        o->ask_reload = true;
    } else if (IS("--fatal")) {
        o->fatal = true;
    } else if (IS("--crash")) {
        o->crash = true;
    } else if (IS("--crash-thread")) {
        o->crash_thread = true;
    } else if (IS("--hang")) {
        o->hang = true;
    } else if (IS("--ClientResources") && value != NULL) {
        o->packs = value;
        return 2;
    } else if (IS("--frames") && value != NULL) {
        o->frames = atol(value);
        return 2;
    } else if (IS("--call-exit") && value != NULL) {
        o->call_exit = atoi(value);
        return 2;
    } else {
        char line[512];
        snprintf(line, sizeof line, "argument %.400s means nothing to the game", at[0]);
        say(COLLET_LOG_WARN, line);
    }
#undef IS
    return 1;
}

static Options parse(int argc, char** argv) {
    Options o = {.call_exit = -1, .host = argc > 0 ? argv[0] : ""};
    for (int i = 1; i < argc;) {
        i += take(&o, argv + i, argc - i);
    }
    return o;
}

/* The live module stands beside the host and is called like it. */
static void name_live(const char* host) {
    size_t n = strlen(host);
    if (n > 4 && strcmp(host + n - 4, ".exe") == 0) {
        n -= 4;
    }
    snprintf(live, sizeof live, "%.*s%s", (int)(n < 4000 ? n : 4000), host, LIBRARY_EXT);
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    static const Build build = {GAME_RELEASE, GAME_COMPATIBILITY};
    static const Speech speech = {ready, say};
    Options options = parse(argc, argv);
    mischief(&options);
    result->Success = game_run(&options, &build, &speech);
    result->ResultKind = result->Success ? FO_CLIENT_RUNTIME_SHUTDOWN : FO_CLIENT_RUNTIME_FATAL_ERROR;
    if (options.fatal) {
        say(COLLET_LOG_ERROR, "a fatal error was asked for");
        result->ResultKind = FO_CLIENT_RUNTIME_FATAL_ERROR;
        result->Success = false;
    }
    if (options.ask_reload) {
        name_live(options.host);
        result->ResultKind = FO_CLIENT_RUNTIME_RELOAD_REQUESTED;
        result->RequestedRuntimePath = live;
        result->RequestedCompatibilityVersion = GAME_COMPATIBILITY;
    }
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    if (host_abi_version != FO_CLIENT_RUNTIME_HOST_ABI_VERSION || exports->StructSize < sizeof *exports) {
        return false;
    }
    memset(exports, 0, sizeof *exports);
    exports->StructSize = sizeof *exports;
    exports->Metadata.StructSize = sizeof exports->Metadata;
    exports->Metadata.AbiVersion = host_abi_version;
    exports->Metadata.RuntimeName = "Lathe";
    exports->Metadata.BuildHash = GAME_BUILD_HASH;
    exports->Metadata.CompatibilityVersion = GAME_COMPATIBILITY;
    exports->Run = run;
    return true;
}

bool Collet_SetHostServices(const ColletHostServices* offered) {
    if (offered == NULL || offered->Version < 1) {
        return false;
    }
    services = offered;
    return true;
}

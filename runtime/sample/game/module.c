/*
 * module.c: the sample game as a runtime module. GAME_RELEASE, GAME_COMPATIBILITY and GAME_BUILD_HASH say which build
 * it is.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../abi/client_runtime.h"
#include "areas.h"
#include "components.h"
#include "config.h"
#include "game.h"
#include "system.h"

#ifndef GAME_RELEASE
#define GAME_RELEASE 1
#endif
#ifndef GAME_COMPATIBILITY
#define GAME_COMPATIBILITY "lathe-2026.1"
#endif
#ifndef GAME_BUILD_HASH
#define GAME_BUILD_HASH "unpublished"
#endif

enum { MAX_PATH_BYTES = 4096, MAX_LINE = 512, MAX_VALUE = 128 };

static const ColletHostServices* services; /* NULL: the host offers none */
static char live[MAX_PATH_BYTES];          /* the path for a reload; it lives until the module is unloaded */

static void ready(void) {
    if (services != NULL && services->Ready != NULL) {
        services->Ready(services->Context);
    }
}

static bool stopping(void) {
    return services != NULL && services->Version >= 2u && services->Stopping != NULL &&
           services->Stopping(services->Context) != 0;
}

static void say(int level, const char* text) {
    if (services != NULL && services->Log != NULL) {
        services->Log(services->Context, level, text);
    } else {
        fprintf(stderr, "%s\n", text);
    }
}

static void complain(const char* about, const char* what) {
    char line[MAX_LINE];
    snprintf(line, sizeof line, "argument %.400s %s", about, what);
    say(COLLET_LOG_WARN, line);
}

/* A number from 0 to INT_MAX, or the fallback with a complaint. */
static int number(const char* name, const char* text, int fallback) {
    char* end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != 0 || value < 0 || value > INT_MAX) {
        complain(name, "wants a number");
        return fallback;
    }
    return (int)value;
}

/* One switch without a value. Returns whether it was one. */
static bool take_switch(Options* o, const char* name) {
    const struct {
        const char* name;
        bool* on;
    } switches[] = {
        {"--headless", &o->headless}, {"--never-ready", &o->never_ready}, {"--ask-reload", &o->ask_reload},
        {"--fatal", &o->fatal},       {"--crash", &o->crash},             {"--crash-thread", &o->crash_thread},
        {"--hang", &o->hang},         {"--late", &o->late},
    };
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        if (strcmp(name, switches[i].name) == 0) {
            *switches[i].on = true;
            return true;
        }
    }
    return false;
}

/* One switch with a value. Returns whether it was one. */
static bool take_value(Options* o, const char* name, const char* value) {
    if (strcmp(name, "--ClientResources") == 0) {
        o->packs.folder = value;
    } else if (strcmp(name, "--ClientResourcesPatched") == 0) {
        o->packs.patched = value;
    } else if (strcmp(name, "--ClientResourcesList") == 0) {
        o->packs.list = value;
    } else if (strcmp(name, "--packaged") == 0) {
        o->packaged = value;
    } else if (strcmp(name, "--ForceOpenGL") == 0) {
        o->force_opengl = value;
    } else if (strcmp(name, "--DeepLinkUri") == 0) {
        o->link = value;
    } else if (strcmp(name, "--server") == 0) {
        o->server = value;
    } else if (strcmp(name, "--logic") == 0) {
        o->logic = number(name, value, COLLET_LOGIC_VERSION);
    } else if (strcmp(name, "--frames") == 0) {
        o->frames = number(name, value, 0);
    } else if (strcmp(name, "--call-exit") == 0) {
        o->call_exit = number(name, value, -1);
    } else {
        return false;
    }
    return true;
}

static Options parse(int argc, char** argv) {
    Options o = {.call_exit = -1, .logic = COLLET_LOGIC_VERSION, .host = argc > 0 ? argv[0] : ""};
    for (int i = 1; i < argc; i++) {
        if (take_switch(&o, argv[i])) {
            continue;
        }
        if (i + 1 < argc && take_value(&o, argv[i], argv[i + 1])) {
            i++;
        } else {
            complain(argv[i], "means nothing to the game");
        }
    }
    if (o.logic < 1 || o.logic > COLLET_LOGIC_VERSION) {
        complain("--logic", "names rules that this build does not have");
        o.logic = COLLET_LOGIC_VERSION;
    }
    if ((o.ask_reload || o.fatal) && o.frames == 0) {
        o.frames = 1;
    }
    return o;
}

/* A line for the log, and for the output of a game without a window. */
static void tell(const Options* o, const char* line) {
    say(COLLET_LOG_INFO, line);
    if (o->headless) {
        printf("%s\n", line);
    }
}

/* Reads what packaging put into the program. Returns whether the game may run: a host that was packaged does not run a
 * module that was not, which would find no server and no name of its own. */
static bool unpack(Options* o) {
    static char title[MAX_VALUE], force_opengl[MAX_VALUE];
    char line[MAX_LINE];
    size_t size;
    const char* config = areas_config(&size);
    if (config == NULL && o->packaged != NULL) {
        snprintf(line, sizeof line, "the host was packaged as %.127s and this module was not packaged; install the game anew", o->packaged);
        say(COLLET_LOG_ERROR, line);
        return false;
    }
    if (config == NULL) {
        return true;
    }
    if (config_find(config, size, "Client.Title", title, sizeof title)) {
        o->title = title;
    }
    if (o->force_opengl == NULL && config_find(config, size, "ForceOpenGL", force_opengl, sizeof force_opengl)) {
        o->force_opengl = force_opengl;
    }
    snprintf(line, sizeof line, "packaged as %.127s: title \"%.127s\", ForceOpenGL %.31s", areas_name(), o->title != NULL ? o->title : "",
             o->force_opengl != NULL ? o->force_opengl : "not set");
    tell(o, line);
    return true;
}

/* What opened the game, for a game that knows what to do with it. */
static void tell_link(const Options* o) {
    char line[MAX_LINE];
    if (o->link != NULL) {
        snprintf(line, sizeof line, "opened by %.400s", o->link);
        tell(o, line);
    }
}

static bool is_exe(const char* ending) {
    return ending[0] == '.' && (ending[1] | 32) == 'e' && (ending[2] | 32) == 'x' && (ending[3] | 32) == 'e';
}

/* The live module stands beside the host and is called like it. Returns whether its path fits. */
static bool name_live(const char* host) {
    size_t n = strlen(host);
    if (n > 4 && is_exe(host + n - 4)) {
        n -= 4;
    }
    if (n + strlen(system_library_ending) >= sizeof live) {
        return false;
    }
    memcpy(live, host, n);
    strcpy(live + n, system_library_ending);
    return true;
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    static const Build build = {GAME_RELEASE, GAME_COMPATIBILITY};
    static const Speech speech = {ready, say, stopping};
    Options options = parse(argc, argv);
    if (!options.late) {
        mischief(&options);
    }
    tell_link(&options);
    result->Success = unpack(&options) && game_run(&options, &build, &speech);
    result->ResultKind = result->Success ? FO_CLIENT_RUNTIME_SHUTDOWN : FO_CLIENT_RUNTIME_FATAL_ERROR;
    if (options.fatal) {
        say(COLLET_LOG_ERROR, "a fatal error was asked for");
        result->ResultKind = FO_CLIENT_RUNTIME_FATAL_ERROR;
        result->Success = false;
    }
    if (options.ask_reload && name_live(options.host)) {
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

bool Collet_QueryComponents(ColletComponents* components) { return collet_fill_components(components); }

bool Collet_SetHostServices(const ColletHostServices* offered) {
    services = NULL;
    if (offered == NULL || offered->Version < 1u || offered->StructSize < offsetof(ColletHostServices, Stopping)) {
        return false;
    }
    services = offered;
    return true;
}

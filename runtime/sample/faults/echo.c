/*
 * A right module that repeats its arguments as log lines, from a thread of its own, says ready, and asks for a reload of
 * the last one. Without arguments behind the host's name it shuts down.
 */
#include "module.h"
#include "thread.h"

static const ColletHostServices* services;
static int32_t count;
static char** words;
static char path[1024];

static void repeat(void) {
    for (int32_t i = 0; i < count; i++) {
        services->Log(services->Context, COLLET_LOG_INFO, words[i]);
    }
    services->Ready(services->Context);
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    static void (*work)(void) = repeat;
    Thread thread;
    shut_down(argc, argv, result);
    count = argc;
    words = argv;
    if (services != NULL && thread_start(&thread, &work)) {
        thread_join(thread);
    }
    if (argc > 1 && strlen(argv[argc - 1]) < sizeof path) {
        result->ResultKind = FO_CLIENT_RUNTIME_RELOAD_REQUESTED;
        result->RequestedRuntimePath = strcpy(path, argv[argc - 1]);
        result->RequestedCompatibilityVersion = "fixture-2";
    }
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

bool Collet_SetHostServices(const ColletHostServices* offered) {
    services = offered->StructSize >= sizeof *offered && offered->Version >= COLLET_HOST_SERVICES_VERSION ? offered : NULL;
    return services != NULL;
}

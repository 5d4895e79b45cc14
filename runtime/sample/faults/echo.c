/* A right module that repeats its arguments as log lines, from a thread of its own, and asks for a reload of the last. */
#include <pthread.h>

#include "module.h"

static const ColletHostServices* services;

typedef struct Words {
    int32_t count;
    char** words;
} Words;

static void* repeat(void* given) {
    const Words* words = given;
    for (int32_t i = 0; i < words->count; i++) {
        services->Log(services->Context, COLLET_LOG_INFO, words->words[i]);
    }
    services->Ready(services->Context);
    return NULL;
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    pthread_t thread;
    Words words = {argc, argv};
    shut_down(argc, argv, result);
    if (services != NULL && pthread_create(&thread, NULL, repeat, &words) == 0) {
        pthread_join(thread, NULL);
    }
    if (argc > 1) {
        result->ResultKind = FO_CLIENT_RUNTIME_RELOAD_REQUESTED;
        result->RequestedRuntimePath = argv[argc - 1];
        result->RequestedCompatibilityVersion = "fixture-2";
    }
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

bool Collet_SetHostServices(const ColletHostServices* offered) {
    services = offered;
    return offered->StructSize >= sizeof *offered && offered->Version >= 1;
}

/*
 * Breaks a rule: a thread of its own is there after Run has returned. It calls the host until it is told that its run is
 * over. When the module runs again, the thread calls once more with what the first run was given, while the second one
 * waits for it; that one's Success says whether the thread was told.
 */
#include <stdatomic.h>

#include "module.h"
#include "thread.h"

enum { TRIES = 100000 };

static const ColletHostServices* services; /* of the run that is on */
static const ColletHostServices* old;      /* of the run that started the thread */
static atomic_bool returning, told, again, called;

static void haunt(void) {
    while (!returning) {
        thread_nap();
    }
    for (int i = 0; i < TRIES && !told; i++) {
        told = old->Log(old->Context, COLLET_LOG_DEBUG, "still there") == 0;
        thread_nap();
    }
    while (!again) {
        thread_nap();
    }
    old->Ready(old->Context);
    old->Log(old->Context, COLLET_LOG_INFO, "from a run that is over");
    called = true;
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    static void (*work)(void) = haunt;
    Thread thread;
    shut_down(argc, argv, result);
    if (old == NULL) {
        old = services;
        result->Success = thread_start(&thread, &work);
        returning = true;
        return;
    }
    again = true;
    while (!called) {
        thread_nap();
    }
    services->Log(services->Context, COLLET_LOG_INFO, "from the run that is on");
    result->Success = told;
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

bool Collet_SetHostServices(const ColletHostServices* offered) {
    services = offered;
    return true;
}

/*
 * Breaks a rule: a thread of its own is there after Run has returned. When the module runs again, the thread calls the
 * host with what the first run was given, while the second one waits for it.
 */
#include <stdatomic.h>

#include "module.h"
#include "thread.h"

static const ColletHostServices* services; /* of the run that is on */
static atomic_bool returned, called;
static const ColletHostServices* old; /* of the run that started the thread */

static void haunt(void) {
    while (!returned) {
        thread_nap();
    }
    old->Ready(old->Context);
    old->Log(old->Context, COLLET_LOG_INFO, "from a run that is over");
    called = true;
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    static void (*work)(void) = haunt;
    static bool started;
    Thread thread;
    shut_down(argc, argv, result);
    if (!started) {
        old = services;
        started = thread_start(&thread, &work);
        return;
    }
    returned = true;
    while (!called) {
        thread_nap();
    }
    services->Log(services->Context, COLLET_LOG_INFO, "from the run that is on");
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

bool Collet_SetHostServices(const ColletHostServices* offered) {
    services = offered;
    return true;
}

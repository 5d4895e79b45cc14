/* Breaks a rule: takes the signal by which the host learns of its own faults. The next one ends the process with 43. */
#include <signal.h>
#include <stdlib.h>

#include "module.h"

static void handle(int number) {
    (void)number;
    _Exit(43);
}

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    shut_down(argc, argv, result);
    signal(SIGSEGV, handle);
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

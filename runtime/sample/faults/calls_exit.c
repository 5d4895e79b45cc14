/* Breaks a rule: ends the process. */
#include <stdlib.h>

#include "module.h"

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    shut_down(argc, argv, result);
    exit(42);
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

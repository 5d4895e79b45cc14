/* Loads well and crashes when it runs. */
#include "module.h"

static void crash(int32_t argc, char** argv, ClientRuntimeResult* result) {
    volatile int* volatile nowhere = NULL;
    *nowhere = argc + (argv == NULL) + (result == NULL);
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, crash);
}

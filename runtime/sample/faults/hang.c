/* Loads well and never returns from Run. */
#include "module.h"

static void hang(int32_t argc, char** argv, ClientRuntimeResult* result) {
    volatile bool forever = argc >= 0 || argv == NULL || result == NULL;
    while (forever) {
    }
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, hang);
}

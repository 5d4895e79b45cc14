/* Writes its own idea of a result's size. */
#include "module.h"

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    shut_down(argc, argv, result);
    result->StructSize = 8;
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

/* Asks for a reload and does not say of what. */
#include "module.h"

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    shut_down(argc, argv, result);
    result->ResultKind = FO_CLIENT_RUNTIME_RELOAD_REQUESTED;
    result->RequestedRuntimePath = "";
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, run);
}

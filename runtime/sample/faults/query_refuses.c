/* Speaks no version of the contract. */
#include "../../abi/client_runtime.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    (void)host_abi_version;
    (void)exports;
    return false;
}

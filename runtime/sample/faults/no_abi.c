/* Names no version at all. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    (void)host_abi_version;
    return fill(exports, 0, shut_down);
}

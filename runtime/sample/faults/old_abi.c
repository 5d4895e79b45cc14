/* A right module that speaks the oldest version only. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return host_abi_version == COLLET_OLDEST_HOST_ABI_VERSION && fill(exports, host_abi_version, shut_down);
}

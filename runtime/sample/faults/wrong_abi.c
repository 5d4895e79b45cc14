/* Says yes to a version and follows another. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version + 1, shut_down);
}

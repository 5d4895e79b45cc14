/* Does not say which servers it can play on. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    fill(exports, host_abi_version, shut_down);
    exports->Metadata.CompatibilityVersion = NULL;
    return true;
}

/* Is asked for its components, writes some, and then says that it has nothing to say. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, shut_down);
}

bool Collet_QueryComponents(ColletComponents* components) {
    components->Count = COLLET_MAX_COMPONENTS + 1;
    components->SetHash = 1;
    return false;
}

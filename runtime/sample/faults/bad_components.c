/* Says that it has more components than there may be. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, shut_down);
}

bool Collet_QueryComponents(ColletComponents* components) {
    static const ColletComponent one = {1, 0, 0, 1, 0, "Camera", NULL};
    components->EntrySize = sizeof one;
    components->Count = COLLET_MAX_COMPONENTS + 1;
    components->SetHash = 1;
    components->Entries = &one;
    return true;
}

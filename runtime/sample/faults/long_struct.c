/* Says that its table is longer than the contract has it. */
#include "module.h"

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    fill(exports, host_abi_version, shut_down);
    exports->StructSize = 56;
    return true;
}

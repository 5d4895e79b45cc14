/* A name without an end, as far as a host should read. */
#include "module.h"

static char name[1 << 20];

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    memset(name, 'x', sizeof name - 1);
    fill(exports, host_abi_version, shut_down);
    exports->Metadata.RuntimeName = name;
    return true;
}

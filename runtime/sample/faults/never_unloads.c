/* A right module that is built so that closing it unloads nothing (-z nodelete). It tells how often it was asked. */
#include "module.h"

static int asked;
static char build[] = "asked 0";

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    build[6] = (char)('0' + ++asked % 10);
    fill(exports, host_abi_version, shut_down);
    exports->Metadata.BuildHash = build;
    return true;
}

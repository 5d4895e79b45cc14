/* Crashes while it is mapped. */
#include "module.h"

__attribute__((constructor)) static void crash(void) {
    volatile int* volatile nowhere = NULL;
    *nowhere = 1;
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, shut_down);
}

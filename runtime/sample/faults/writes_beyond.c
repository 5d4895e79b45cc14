/* Was built for longer structs of another time, and does not look at the sizes that it is given. */
#include "module.h"

enum { BEYOND = 512 };

static void run(int32_t argc, char** argv, ClientRuntimeResult* result) {
    shut_down(argc, argv, result);
    memset((char*)result + sizeof *result, 0xAA, BEYOND);
}

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    memset((char*)exports + sizeof *exports, 0xAA, BEYOND);
    return fill(exports, host_abi_version, run);
}

/* Needs a function that is nowhere, as a module does that was built for another version of a library. */
#include "module.h"

#if defined(_WIN32)
/* A linker for Windows does not make such a library. This one refuses to be loaded instead. */
#include <windows.h>
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, LPVOID reserved) {
    (void)self;
    (void)reserved;
    return reason != DLL_PROCESS_ATTACH;
}
#else
int collet_fixture_that_nobody_has(void);
__attribute__((visibility("default"))) int use(void) { return collet_fixture_that_nobody_has(); }
#endif

bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports) {
    return fill(exports, host_abi_version, shut_down);
}

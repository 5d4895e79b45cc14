/* module.h: a right table, for fixtures that get one thing wrong. */
#ifndef SAMPLE_FAULTS_MODULE_H
#define SAMPLE_FAULTS_MODULE_H

#include <stddef.h>
#include <string.h>

#include "../../abi/client_runtime.h"

static inline bool fill(ClientRuntimeExports* exports, uint32_t abi, ClientRuntimeRun run) {
    memset(exports, 0, sizeof *exports);
    exports->StructSize = sizeof *exports;
    exports->Metadata.StructSize = sizeof exports->Metadata;
    exports->Metadata.AbiVersion = abi;
    exports->Metadata.RuntimeName = "fixture";
    exports->Metadata.BuildHash = "fixture-build";
    exports->Metadata.CompatibilityVersion = "fixture-1";
    exports->Run = run;
    return true;
}

static inline void shut_down(int32_t argc, char** argv, ClientRuntimeResult* result) {
    (void)argc;
    (void)argv;
    result->ResultKind = FO_CLIENT_RUNTIME_SHUTDOWN;
    result->Success = true;
}

#endif

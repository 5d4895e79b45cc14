//go:build cgo

#include "bridge.h"

#include <stdlib.h>

#define COLLET_EXPORT /* hidden, by the compiler's flags */
#include "../abi/client_runtime.h"
#include "_cgo_export.h"

static intptr_t ready(void* context) { return colletEmbeddedReady((uintptr_t)context); }

static intptr_t write_log(void* context, intptr_t level, const char* message) {
    return colletEmbeddedLog((uintptr_t)context, level, (uintptr_t)message);
}

static intptr_t stopping(void* context) { return colletEmbeddedStopping((uintptr_t)context); }

bool collet_embedded_query(uint32_t version, void* exports) { return FO_QueryClientRuntimeExports(version, exports); }

bool collet_embedded_components(void* components) { return Collet_QueryComponents(components); }

/* The struct is never freed: 40 bytes a run. A thread that the client left behind against the rules may look at it at any
 * time, and must find its own run's context there. */
void collet_embedded_offer(uintptr_t context) {
    ColletHostServices* services = malloc(sizeof *services);
    if (services != NULL) {
        services->StructSize = sizeof *services;
        services->Version = COLLET_HOST_SERVICES_VERSION;
        services->Context = (void*)context;
        services->Ready = ready;
        services->Log = write_log;
        services->Stopping = stopping;
        Collet_SetHostServices(services);
    }
}

void collet_embedded_run(uintptr_t function, int32_t argc, void* argv, void* result) {
    ((ClientRuntimeRun)function)(argc, argv, result);
}

/*
 * chost.c: a host in C. It loads the module of its first argument, runs it with the rest, and says which signals the
 * module has taken, while its first frame is on the screen and when it has ended. A host in Go would not notice: Go takes
 * nearly all signals first, and libraries leave alone what is taken.
 */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "client_runtime.h"

enum { LAST_SIGNAL = 31 };

static void report(const char* when) {
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL) {
            printf("%s: signal %d is taken\n", when, number);
        }
    }
}

static intptr_t ready(void* context) {
    (void)context;
    report("ready");
    printf("ready\n");
    return 1;
}

static intptr_t write_log(void* context, intptr_t level, const char* message) {
    (void)context;
    printf("%d %s\n", (int)level, message);
    return 1;
}

static intptr_t stopping(void* context) {
    (void)context;
    return 0;
}

static void* symbol(void* library, const char* name, void* function, size_t size) {
    void* address = dlsym(library, name);
    memcpy(function, &address, size);
    return address;
}

int main(int argc, char** argv) {
    bool (*query)(uint32_t, ClientRuntimeExports*);
    bool (*offer)(const ColletHostServices*);
    ColletHostServices services = {sizeof services, COLLET_HOST_SERVICES_VERSION, NULL, ready, write_log, stopping};
    ClientRuntimeExports exports = {.StructSize = sizeof exports, .Metadata.StructSize = sizeof exports.Metadata};
    ClientRuntimeResult result = {.StructSize = sizeof result};
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        signal(number, SIG_DFL); /* the parent may ignore some, which is inherited */
    }
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL || symbol(library, "FO_QueryClientRuntimeExports", &query, sizeof query) == NULL ||
        symbol(library, "Collet_SetHostServices", &offer, sizeof offer) == NULL ||
        !query(FO_CLIENT_RUNTIME_HOST_ABI_VERSION, &exports) || !offer(&services)) {
        printf("no module\n");
        return 1;
    }
    exports.Run(argc - 1, argv + 1, &result);
    report("end");
    printf("%s ended with kind %u, success %d\n", exports.Metadata.RuntimeName, (unsigned)result.ResultKind, result.Success);
    return dlclose(library);
}

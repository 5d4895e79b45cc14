/*
 * client_runtime.h: the contract between the host and a native runtime module.
 *
 * A module is a shared library. The host maps it into a process of its own, asks FO_QueryClientRuntimeExports for a table,
 * checks the table, and calls Run on the main thread of that process. When Run returns, the module's result says how to
 * go on; then the process ends. A new version of the module runs in a new process.
 *
 * Layouts are those of 64-bit systems with the platform's natural alignment; the comments give offsets and sizes in
 * bytes. A field never changes its place. Structs grow at their end only, and StructSize says how much of one is there.
 *
 * What a module must keep to:
 *  - It owns every string it hands over. A string stays as it is until the module is unloaded; the host copies it before
 *    that. All strings are UTF-8 and end with a zero byte.
 *  - It replaces no signal handlers and no exception filters, and calls neither exit nor abort. It returns from Run.
 *  - It leaves no thread of its own behind when Run has returned.
 *  - It uses at most 512 KiB of stack on the thread that called Run.
 *  - Its constructors do as little as can be: a crash there is a module that can't be loaded.
 *  - It is linked so that its own symbols are its own (-Wl,-Bsymbolic on ELF): the host may contain the same code.
 */
#ifndef COLLET_CLIENT_RUNTIME_H
#define COLLET_CLIENT_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef COLLET_EXPORT
#if defined(_WIN32)
#define COLLET_EXPORT __declspec(dllexport)
#else
#define COLLET_EXPORT __attribute__((visibility("default")))
#endif
#endif

/* The version of this contract. The host asks with this number first, then with the oldest one it still speaks. */
#define FO_CLIENT_RUNTIME_HOST_ABI_VERSION 3u
#define COLLET_OLDEST_HOST_ABI_VERSION 2u

/* How Run ended: values of ClientRuntimeResult.ResultKind. */
#define FO_CLIENT_RUNTIME_SHUTDOWN 0u         /* the player is done */
#define FO_CLIENT_RUNTIME_RELOAD_REQUESTED 1u /* load RequestedRuntimePath and run that */
#define FO_CLIENT_RUNTIME_FATAL_ERROR 2u      /* the module can't go on */

/* Who the module is. 32 bytes. */
typedef struct ClientRuntimeMetadata {
    uint32_t StructSize;              /*  0: 32 */
    uint32_t AbiVersion;              /*  4: the version that this table follows; equals the one asked for */
    const char* RuntimeName;          /*  8: name of the game, not null */
    const char* BuildHash;            /* 16: which build this is, not null */
    const char* CompatibilityVersion; /* 24: which servers it can play on, not null */
} ClientRuntimeMetadata;

/* How Run ended. The host hands it over zeroed, with StructSize set. 32 bytes. */
typedef struct ClientRuntimeResult {
    uint32_t StructSize;                       /*  0: 32, left as it is */
    uint32_t ResultKind;                       /*  4: one of FO_CLIENT_RUNTIME_… */
    bool Success;                              /*  8: whether the module thinks that all went well */
    const char* RequestedRuntimePath;          /* 16: with RELOAD_REQUESTED, not null and not empty */
    const char* RequestedCompatibilityVersion; /* 24: may be null */
} ClientRuntimeResult;

/* The module's main function. argv has argc entries and a null after them; argv[0] names the host program. */
typedef void (*ClientRuntimeRun)(int32_t argc, char** argv, ClientRuntimeResult* result);

/* What the module offers. The host hands it over zeroed, with StructSize set. 48 bytes. */
typedef struct ClientRuntimeExports {
    uint32_t StructSize;            /*  0: 48 */
    ClientRuntimeMetadata Metadata; /*  8 */
    ClientRuntimeRun Run;           /* 40: not null */
} ClientRuntimeExports;

/*
 * The one symbol that every module exports. It fills *exports and returns true, or returns false if it does not speak
 * host_abi_version; then the host may ask again with an older version. It writes no more than exports->StructSize bytes.
 */
COLLET_EXPORT bool FO_QueryClientRuntimeExports(uint32_t host_abi_version, ClientRuntimeExports* exports);

/* Levels of ColletHostServices.Log. */
#define COLLET_LOG_DEBUG 0
#define COLLET_LOG_INFO 1
#define COLLET_LOG_WARN 2
#define COLLET_LOG_ERROR 3

/*
 * What the host offers the module. Version 1, 32 bytes. Callbacks may be called from any thread while Run runs, and not
 * after it; they take and return integers and pointers only, because that is all that every system can pass on. The
 * value they return means nothing yet.
 */
typedef struct ColletHostServices {
    uint32_t StructSize;                                                 /*  0: 32, or more in a later version */
    uint32_t Version;                                                    /*  4: 1 */
    void* Context;                                                       /*  8: handed back to every callback */
    intptr_t (*Ready)(void* context);                                    /* 16: the first frame is on the screen */
    intptr_t (*Log)(void* context, intptr_t level, const char* message); /* 24: one line, UTF-8, for the host's log */
} ColletHostServices;

/*
 * Optional. If a module exports it, the host calls it once, after the query and before Run. The struct stays valid until
 * the module is unloaded. Return false to say that this version is of no use; that is no error.
 */
COLLET_EXPORT bool Collet_SetHostServices(const ColletHostServices* services);

#ifdef __cplusplus
}
#endif

#endif

/*
 * client_runtime.h: the contract between the host and a native runtime module.
 *
 * A module is a shared library. The host maps it into a process of its own, asks FO_QueryClientRuntimeExports for a table,
 * checks the table, offers its services, and calls Run on the main thread of that process. When Run returns, the result
 * says how to go on; then the process ends. A new version of the module runs in a new process under the same host.
 *
 * Layouts have the platform's natural alignment. The comments give offsets and sizes in bytes for 64-bit systems. A field
 * never changes its place. A struct grows at its end only, together with a version number.
 *
 * What a module must keep to:
 *  - Strings that it hands over are UTF-8 and end with a zero byte. It owns them. They stay as they are until it is
 *    unloaded; the host copies them before that.
 *  - It uses the ABI from the main thread only, on which it is called. The callbacks of ColletHostServices may be called
 *    from any thread.
 *  - It replaces no signal handlers and no exception filters, and does not change what standard handles and other handles
 *    that it did not open are. (SDL2 replaces signal handlers unless the hint SDL_NO_SIGNAL_HANDLERS is set.)
 *  - It returns from Run, and calls neither exit nor abort. No C++ exception leaves it.
 *  - It leaves no thread of its own behind when Run has returned, and no window.
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

/* What makes a function visible to the host. Defined before, it is left alone. */
#ifndef COLLET_EXPORT
#if defined(_WIN32)
#define COLLET_EXPORT __declspec(dllexport)
#else
#define COLLET_EXPORT __attribute__((visibility("default")))
#endif
#endif

/*
 * The version of this contract. The host asks with this number first and, if it is refused, with the oldest one that it
 * still speaks. Versions 2 and 3 have the same layouts.
 */
#define FO_CLIENT_RUNTIME_HOST_ABI_VERSION 3u
#define COLLET_OLDEST_HOST_ABI_VERSION 2u

/* How Run ended: values of ClientRuntimeResult.ResultKind. The host takes any other value for a broken module. */
#define FO_CLIENT_RUNTIME_SHUTDOWN 0u         /* the player is done */
#define FO_CLIENT_RUNTIME_RELOAD_REQUESTED 1u /* load RequestedRuntimePath and run that */
#define FO_CLIENT_RUNTIME_FATAL_ERROR 2u      /* the module can't go on */

/* Who the module is. 32 bytes. None of the strings is null; each has at most 128 KiB with its zero byte. */
typedef struct ClientRuntimeMetadata {
    uint32_t StructSize;              /*  0: 32 */
    uint32_t AbiVersion;              /*  4: the version that the host asked with, which this table follows; never 0 */
    const char* RuntimeName;          /*  8: name of the game */
    const char* BuildHash;            /* 16: which build this is */
    const char* CompatibilityVersion; /* 24: which servers it can play on */
} ClientRuntimeMetadata;

/* How Run ended. The host hands it over zeroed, with StructSize set. 32 bytes. */
typedef struct ClientRuntimeResult {
    uint32_t StructSize;                       /*  0: 32, left as it is */
    uint32_t ResultKind;                       /*  4: one of FO_CLIENT_RUNTIME_… */
    bool Success;                              /*  8: whether the module thinks that all went well; 7 bytes of nothing */
    const char* RequestedRuntimePath;          /* 16: with RELOAD_REQUESTED, neither null nor empty */
    const char* RequestedCompatibilityVersion; /* 24: may be null */
} ClientRuntimeResult;

/*
 * The module's main function. argv has argc entries and a null after them; argv[0] names the host program. The host owns
 * all of it; it is gone when Run has returned.
 */
typedef void (*ClientRuntimeRun)(int32_t argc, char** argv, ClientRuntimeResult* result);

/* What the module offers. The host hands it over zeroed, with both sizes set. 48 bytes. */
typedef struct ClientRuntimeExports {
    uint32_t StructSize;            /*  0: 48; 4 bytes of nothing */
    ClientRuntimeMetadata Metadata; /*  8: who the module is */
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

/* The version of the struct below. A later one has everything that this one has. */
#define COLLET_HOST_SERVICES_VERSION 2u

/*
 * What the host offers the module. Version 2, 40 bytes; version 1 ended before Stopping. Callbacks may be called from any
 * thread while Run runs, and do nothing after it. They take and return integers and pointers only, because that is all that
 * every system can pass on. Ready and Log return 1, or 0 if the run that Context belongs to is over.
 */
typedef struct ColletHostServices {
    uint32_t StructSize;                                                 /*  0: 40, or more in a later version */
    uint32_t Version;                                                    /*  4: 2, or a later one */
    void* Context;                                                       /*  8: handed back to every callback */
    intptr_t (*Ready)(void* context);                                    /* 16: the first frame is on the screen */
    intptr_t (*Log)(void* context, intptr_t level, const char* message); /* 24: UTF-8, for the host's log; copied */
    intptr_t (*Stopping)(void* context);                                 /* 32: 1: leave Run soon; 0: go on. Ask every frame */
} ColletHostServices;

/*
 * Optional. If a module exports it, the host calls it before each Run, with a struct of that run. The struct stays where
 * and as it is until the module is unloaded. Return false to say that this version is of no use; that is no error.
 */
COLLET_EXPORT bool Collet_SetHostServices(const ColletHostServices* services);

/* How many components a module may have, and how many bytes the strings of them may, without their zero bytes. */
#define COLLET_MAX_COMPONENTS 4096u
#define COLLET_MAX_COMPONENT_NAME 128u
#define COLLET_MAX_BUILD_ID 64u
#define COLLET_MAX_BRANCH 32u

/* One component that clients and servers share. 40 bytes. */
typedef struct ColletComponent {
    uint64_t Hash;        /*  0: of its canonical form; never 0 */
    int64_t ChangedAt;    /*  8: seconds since 1970 of the commit that last changed it; 0 is unknown */
    int32_t SinceLogic;   /* 16: logic version that brought it; 0 is from the beginning */
    uint16_t WireId;      /* 20: its number on the wire */
    uint16_t Padding;     /* 22: 0 */
    const char* Name;     /* 24: not null, not empty: ASCII letters, digits, '_', '.' and '-' */
    const void* Reserved; /* 32: null */
} ColletComponent;

/* What a module was built from. The host hands it over zeroed, with StructSize set. 80 bytes. */
typedef struct ColletComponents {
    uint32_t StructSize;            /*  0: 80 */
    uint32_t EntrySize;             /*  4: 40 */
    uint32_t Count;                 /*  8: of Entries, at most COLLET_MAX_COMPONENTS */
    int32_t LogicVersion;           /* 12: at least 0 */
    uint64_t SetHash;               /* 16: over all components; never 0 */
    int64_t BuildTime;              /* 24: seconds since 1970 of the build's commit; 0 is unknown */
    uint64_t BuildSeq;              /* 32: number of commits on Branch; 0 is unknown */
    uint32_t Patch;                 /* 40: number of this build among those of its logic version */
    uint32_t Flags;                 /* 44: 1 is a developer's build; the others are 0 */
    const ColletComponent* Entries; /* 48: may be null if Count is 0 */
    const char* BuildId;            /* 56: may be null; at most COLLET_MAX_BUILD_ID bytes */
    const char* Branch;             /* 64: may be null; at most COLLET_MAX_BRANCH bytes */
    const void* Reserved;           /* 72: null */
} ColletComponents;

/*
 * Optional. If a module exports it, the host calls it once, after FO_QueryClientRuntimeExports. It fills *components and
 * returns true, or returns false if it has nothing to say. The header that compatgen generates has all that is needed for it.
 */
COLLET_EXPORT bool Collet_QueryComponents(ColletComponents* components);

/* The layouts of 64-bit systems, checked by whatever compiler reads this. */
#if UINTPTR_MAX == UINT64_MAX
#ifdef __cplusplus
#define COLLET_ASSERT_SIZE(type, size) static_assert(sizeof(type) == (size), "layout of " #type)
#else
#define COLLET_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), "layout of " #type)
#endif
COLLET_ASSERT_SIZE(ClientRuntimeMetadata, 32);
COLLET_ASSERT_SIZE(ClientRuntimeResult, 32);
COLLET_ASSERT_SIZE(ClientRuntimeExports, 48);
COLLET_ASSERT_SIZE(ColletHostServices, 40);
COLLET_ASSERT_SIZE(ColletComponent, 40);
COLLET_ASSERT_SIZE(ColletComponents, 80);
#undef COLLET_ASSERT_SIZE
#endif

#ifdef __cplusplus
}
#endif

#endif

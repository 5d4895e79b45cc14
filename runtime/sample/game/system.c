/* system.c: the operating system's calls, and nothing that decides anything. */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "system.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)

#include <windows.h>

const char system_library_ending[] = ".dll";

/* Windows takes UTF-8 only where a program's manifest says so. */
static wchar_t* wide(const char* text) {
    int n = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t* copy = n > 0 ? malloc((size_t)n * sizeof *copy) : NULL;
    if (copy != NULL) {
        MultiByteToWideChar(CP_UTF8, 0, text, -1, copy, n);
    }
    return copy;
}

FILE* system_open_file(const char* path) {
    wchar_t* name = wide(path);
    FILE* file = name != NULL ? _wfopen(name, L"rb") : NULL;
    free(name);
    return file;
}

void system_sleep(unsigned milliseconds) { Sleep(milliseconds); }

/* The folders of the program and of the system are searched, and not the working folder. */
void* system_open_library(const char* name) {
    return (void*)LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

void* system_symbol(void* library, const char* name) { return (void*)(uintptr_t)GetProcAddress((HMODULE)library, name); }

static DWORD WINAPI call(void* work) {
    void (*function)(void);
    memcpy(&function, &work, sizeof function);
    function();
    return 0;
}

void system_run_thread(void (*work)(void)) {
    void* argument;
    HANDLE thread;
    memcpy(&argument, &work, sizeof argument);
    thread = CreateThread(NULL, 0, call, argument, 0, NULL);
    if (thread != NULL) {
        WaitForSingleObject(thread, INFINITE);
        CloseHandle(thread);
    }
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#if defined(__APPLE__)
const char system_library_ending[] = ".dylib";
#else
const char system_library_ending[] = ".so";
#endif

FILE* system_open_file(const char* path) { return fopen(path, "rb"); }

void system_sleep(unsigned milliseconds) {
    struct timespec time = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}

void* system_open_library(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

void* system_symbol(void* library, const char* name) { return dlsym(library, name); }

static void* call(void* work) {
    void (*function)(void);
    memcpy(&function, &work, sizeof function);
    function();
    return NULL;
}

void system_run_thread(void (*work)(void)) {
    void* argument;
    pthread_t thread;
    memcpy(&argument, &work, sizeof argument);
    if (pthread_create(&thread, NULL, call, argument) == 0) {
        pthread_join(thread, NULL);
    }
}

#endif

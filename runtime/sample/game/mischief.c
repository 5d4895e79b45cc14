/* mischief.c: everything that a module must not do, on demand, so that hosts can be tested with it. */
#include <stdlib.h>

#include "game.h"

#if defined(_WIN32)
#include <windows.h>
static void nap(void) { Sleep(1000); }
#else
#include <pthread.h>
#include <unistd.h>
static void nap(void) { sleep(1); }
#endif

static void crash(void) {
    volatile int* volatile nowhere = NULL;
    *nowhere = 1;
}

#if defined(_WIN32)
static DWORD WINAPI crash_there(void* unused) {
    crash();
    return unused != NULL;
}
static void crash_on_thread(void) { CreateThread(NULL, 0, crash_there, NULL, 0, NULL); }
#else
static void* crash_there(void* unused) {
    crash();
    return unused;
}
static void crash_on_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_there, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}
#endif

void mischief(const Options* options) {
    if (options->crash) {
        crash();
    }
    if (options->crash_thread) {
        crash_on_thread();
    }
    if (options->call_exit >= 0) {
        exit(options->call_exit);
    }
    while (options->hang) {
        nap();
    }
}

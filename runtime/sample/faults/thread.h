/* thread.h: threads, for fixtures that need one. */
#ifndef SAMPLE_FAULTS_THREAD_H
#define SAMPLE_FAULTS_THREAD_H

#include <stdbool.h>

#if defined(_WIN32)

#include <windows.h>

typedef HANDLE Thread;

static DWORD WINAPI thread_enter(void* work) {
    (*(void (**)(void))work)();
    return 0;
}

/* Calls *work on a new thread. work has to stay where it is. */
static inline bool thread_start(Thread* thread, void (**work)(void)) {
    *thread = CreateThread(NULL, 0, thread_enter, (void*)work, 0, NULL);
    return *thread != NULL;
}

static inline void thread_join(Thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

static inline void thread_nap(void) { Sleep(1); }

#else

#include <pthread.h>
#include <sched.h>

typedef pthread_t Thread;

static void* thread_enter(void* work) {
    (*(void (**)(void))work)();
    return NULL;
}

/* Calls *work on a new thread. work has to stay where it is. */
static inline bool thread_start(Thread* thread, void (**work)(void)) {
    return pthread_create(thread, NULL, thread_enter, (void*)work) == 0;
}

static inline void thread_join(Thread thread) { pthread_join(thread, NULL); }

static inline void thread_nap(void) { sched_yield(); }

#endif

#endif

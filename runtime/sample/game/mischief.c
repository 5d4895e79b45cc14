/* mischief.c: everything that a module must not do, on demand, so that hosts can be tested with it. */
#include <stdlib.h>

#include "game.h"
#include "system.h"

static void crash(void) {
    volatile int* volatile nowhere = NULL;
    *nowhere = 1;
}

void mischief(const Options* options) {
    if (options->crash) {
        crash();
    }
    if (options->crash_thread) {
        system_run_thread(crash);
    }
    if (options->call_exit >= 0) {
        exit(options->call_exit);
    }
    while (options->hang) {
        system_sleep(1000);
    }
}

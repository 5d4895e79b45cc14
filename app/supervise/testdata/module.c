/* A module in C that does what a test asks it to. The stage fright of real modules: it crashes on the thread of the caller
 * and on one of its own, it exits, it prints to everything it can reach, and it touches handles that are not its own. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* crash(void* unused)
{
    (void)unused;
    *(volatile int*)16 = 1;
    return NULL;
}

static void crash_on_own_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crash, NULL);
    pthread_join(thread, NULL);
}

static void close_everything(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

/* Leaves a copy of this process behind that holds every handle, the control pipe among them, and prints to none. */
static void leave_copy(void)
{
    pid_t child = fork();
    if (child == 0) {
        sleep(1000);
        _exit(0);
    }
    printf("%d\n", (int)child);
    fflush(stdout);
}

static void print_garbage(void)
{
    static const char garbage[] = "{\"result\":{\"kind\":2,\"success\":true}}\n\0\xff\xfe{";
    for (int i = 0; i < 100; i++) {
        fwrite(garbage, 1, sizeof garbage - 1, stdout);
        fwrite(garbage, 1, sizeof garbage - 1, stderr);
    }
    fflush(stdout);
}

int module_run(const char* what)
{
    if (strcmp(what, "return") == 0)
        return 0;
    if (strcmp(what, "crash") == 0)
        crash(NULL);
    else if (strcmp(what, "thread") == 0)
        crash_on_own_thread();
    else if (strcmp(what, "abort") == 0)
        abort();
    else if (strcmp(what, "exit") == 0)
        exit(42);
    else if (strcmp(what, "print") == 0)
        print_garbage();
    else if (strcmp(what, "close") == 0)
        close_everything();
    else if (strcmp(what, "copy") == 0) {
        leave_copy();
        _exit(0);
    }
    else if (strcmp(what, "cut") == 0) { /* the control pipe and nothing else */
        close(3);
        close(4);
    }
    if (strcmp(what, "hang") == 0 || strcmp(what, "close") == 0 || strcmp(what, "cut") == 0)
        for (;;)
            sleep(1000);
    return 0;
}

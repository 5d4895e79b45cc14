/* system.c: the operating system's calls, and nothing that decides anything. */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "system.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 2 /* seconds that sending and receiving wait */ };

#if defined(_WIN32)

#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>

enum { SEND_FLAGS = 0 };

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

/* The library is opened once and stays open until the process ends. */
static bool prepare(void) {
    static bool ready;
    WSADATA data;
    ready = ready || WSAStartup(MAKEWORD(2, 2), &data) == 0;
    return ready;
}

static bool is_socket(intptr_t socket) { return (SOCKET)socket != INVALID_SOCKET; }

static void limit(intptr_t socket) {
    DWORD time = PATIENCE * 1000;
    setsockopt((SOCKET)socket, SOL_SOCKET, SO_RCVTIMEO, (const char*)&time, sizeof time);
    setsockopt((SOCKET)socket, SOL_SOCKET, SO_SNDTIMEO, (const char*)&time, sizeof time);
}

void system_hang_up(intptr_t socket) { closesocket((SOCKET)socket); }

#else

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if defined(MSG_NOSIGNAL)
enum { SEND_FLAGS = MSG_NOSIGNAL }; /* a server that is gone is an error and no signal */
#else
enum { SEND_FLAGS = 0 };
#endif

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

static bool prepare(void) { return true; }

static bool is_socket(intptr_t socket) { return socket >= 0; }

static void limit(intptr_t socket) {
    struct timeval time = {PATIENCE, 0};
    setsockopt((int)socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt((int)socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
#if defined(SO_NOSIGPIPE)
    setsockopt((int)socket, SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
}

void system_hang_up(intptr_t socket) { close((int)socket); }

#endif

#if defined(_WIN32)
typedef SOCKET Handle;
#else
typedef int Handle;
#endif

bool system_connect(const char* address, uint16_t port, intptr_t* made) {
    struct sockaddr_in to;
    int now = 1;
    memset(&to, 0, sizeof to);
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    if (!prepare() || inet_pton(AF_INET, address, &to.sin_addr) != 1) {
        return false;
    }
    *made = (intptr_t)socket(AF_INET, SOCK_STREAM, 0);
    if (!is_socket(*made)) {
        return false;
    }
    limit(*made);
    setsockopt((Handle)*made, IPPROTO_TCP, TCP_NODELAY, (const char*)&now, sizeof now); /* a step is a few bytes and is waited for */
    if (connect((Handle)*made, (const struct sockaddr*)&to, sizeof to) != 0) {
        system_hang_up(*made);
        return false;
    }
    return true;
}

bool system_send(intptr_t socket, const void* bytes, size_t n) {
    const char* at = bytes;
    while (n > 0) {
        int sent = (int)send((Handle)socket, at, n, SEND_FLAGS);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool system_receive(intptr_t socket, void* bytes, size_t n) {
    char* at = bytes;
    while (n > 0) {
        int got = (int)recv((Handle)socket, at, n, 0);
        if (got <= 0) {
            return false;
        }
        at += got;
        n -= (size_t)got;
    }
    return true;
}

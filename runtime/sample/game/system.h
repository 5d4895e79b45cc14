/* system.h: what the game needs of the operating system. Text is UTF-8 on every system. */
#ifndef SAMPLE_SYSTEM_H
#define SAMPLE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The ending of a native library's name, with its dot. */
extern const char system_library_ending[];

/* Opens a file for reading. NULL if it can't be. */
FILE* system_open_file(const char* path);

void system_sleep(unsigned milliseconds);

/* Opens a library and runs its constructors. NULL if it can't be. It stays open until the process ends. */
void* system_open_library(const char* name);

/* The address of a function, or NULL. Copy it as bytes: C has no cast from an object to a function. */
void* system_symbol(void* library, const char* name);

/* Calls work on a thread of its own and waits for the thread to end. */
void system_run_thread(void (*work)(void));

/* Connects over TCP to an IPv4 address in digits. Sending and receiving wait for 2 seconds at most. */
bool system_connect(const char* address, uint16_t port, intptr_t* socket);

/* Sends or receives all of it, or returns false. */
bool system_send(intptr_t socket, const void* bytes, size_t n);
bool system_receive(intptr_t socket, void* bytes, size_t n);

void system_hang_up(intptr_t socket);

#endif

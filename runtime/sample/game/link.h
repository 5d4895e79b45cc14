/* link.h: playing in step with a game server, which does each step too and compares the worlds (package protocol). */
#ifndef SAMPLE_LINK_H
#define SAMPLE_LINK_H

#include "world.h"

enum { LINK_ERROR_SIZE = 256 };

/* One game on a server. Zeroed, it is none. */
typedef struct Link {
    intptr_t socket;
    bool open;
    uint32_t steps; /* that the server agreed with */
    uint64_t sum;   /* of the world after the last of them */
} Link;

/* Greets the server at ADDRESS:PORT, an IPv4 address in digits, with a world that was just started. Returns whether there is one,
 * or says in error, of LINK_ERROR_SIZE bytes, why not. */
bool link_open(Link* link, const char* address, const World* world, char* error);

/* Tells the server what the player steered in the step that led to the world, and has it compare. On false, which ends the link,
 * error says why. Without a server there is nothing to compare, and that is true. */
bool link_step(Link* link, const World* world, Steer steer, char* error);

/* Tells the server that the player leaves. */
void link_close(Link* link);

#endif

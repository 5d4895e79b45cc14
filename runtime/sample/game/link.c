/* link.c: what package protocol describes, from the player's end. All numbers are little-endian. */
#include "link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sum.h"
#include "system.h"

enum {
    GREETING = 26, /* bytes: version i32, seed u32, field 4 × i16, sizes 4 × u16, pieces u16 */
    STEP = 9,      /* steering u8, sum u64 */
    ANSWER = 13,   /* parted u8, step u32, sum u64 */
    LEFT = 1,      /* bits of the steering */
    RIGHT = 2,
    UP = 4,
    DOWN = 8,
    END = 128,
    MAX_HOST = 64
};

static unsigned char* put(unsigned char* at, uint64_t n, int bytes) {
    for (int i = 0; i < bytes; i++) {
        *at++ = (unsigned char)(n >> 8 * i);
    }
    return at;
}

static uint64_t get(const unsigned char* at, int bytes) {
    uint64_t n = 0;
    for (int i = bytes; i-- > 0;) {
        n = n << 8 | at[i];
    }
    return n;
}

static void greet(unsigned char* to, const World* world) {
    const int numbers[] = {world->left, world->top, world->right, world->bottom, world->player_width, world->player_height, world->piece_width,
                           world->piece_height, world->count};
    to = put(to, (uint32_t)world->logic, 4);
    to = put(to, WORLD_SEED, 4);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        to = put(to, (uint16_t)numbers[i], 2);
    }
}

static bool part(Link* link, char* error, const char* why) {
    snprintf(error, LINK_ERROR_SIZE, "%s", why);
    system_hang_up(link->socket);
    link->open = false;
    return false;
}

bool link_open(Link* link, const char* address, const World* world, char* error) {
    unsigned char greeting[GREETING];
    char host[MAX_HOST];
    const char* colon = strrchr(address, ':');
    char* end = NULL;
    long port = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    memset(link, 0, sizeof *link);
    if (port < 1 || port > UINT16_MAX || *end != 0 || colon - address >= MAX_HOST) {
        snprintf(error, LINK_ERROR_SIZE, "%.100s is not like 192.0.2.1:4100", address);
        return false;
    }
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = 0;
    link->open = system_connect(host, (uint16_t)port, &link->socket);
    if (!link->open) {
        snprintf(error, LINK_ERROR_SIZE, "no server answers at %.100s", address);
        return false;
    }
    greet(greeting, world);
    return system_send(link->socket, greeting, sizeof greeting) || part(link, error, "it takes no greeting");
}

static unsigned char bits(Steer steer) {
    return (unsigned char)((steer.left ? LEFT : 0) | (steer.right ? RIGHT : 0) | (steer.up ? UP : 0) | (steer.down ? DOWN : 0));
}

bool link_step(Link* link, const World* world, Steer steer, char* error) {
    unsigned char step[STEP], answer[ANSWER];
    char why[LINK_ERROR_SIZE];
    uint64_t sum;
    if (!link->open) {
        return true;
    }
    sum = sum_world(world);
    put(put(step, bits(steer), 1), sum, 8);
    if (!system_send(link->socket, step, sizeof step) || !system_receive(link->socket, answer, sizeof answer)) {
        return part(link, error, "it is gone, or takes too long");
    }
    if (answer[0] != 0) {
        snprintf(why, sizeof why, "step %" PRIu64 " in logic version %" PRId32 ": this world has the checksum %016" PRIx64 ", the server's %016" PRIx64,
                 get(answer + 1, 4), world->logic, sum, get(answer + 5, 8));
        return part(link, error, why);
    }
    link->steps++;
    link->sum = sum;
    return true;
}

void link_close(Link* link) {
    unsigned char step[STEP] = {END};
    if (link->open) {
        system_send(link->socket, step, sizeof step);
        system_hang_up(link->socket);
        link->open = false;
    }
}

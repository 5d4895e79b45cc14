/* sum.c: each piece of the world as 64 bits, most significant first, through SHA-256 (FIPS 180-4). Every value has its kind before
 * it, a list its length, a struct the number of its members, and a member its number. Which members a version has says the generated header. */
#include "sum.h"

#include <string.h>

#include "../../abi/client_runtime.h"
#include "components.h"

/* What stands before a value, by its type (docs/COMPATIBILITY.md, "Members that come and go"). */
enum { KIND_BOOL = 1, KIND_INT16 = 4, KIND_UINT16 = 9, KIND_UINT32 = 10, KIND_LIST = 23, KIND_STRUCT = 25 };

enum { BLOCK = 64, WORDS = 8 };

typedef struct Sum {
    uint32_t state[WORDS];
    unsigned char block[BLOCK];
    uint64_t length; /* bytes so far */
} Sum;

static uint32_t turn(uint32_t value, int bits) { return value >> bits | value << (32 - bits); }

static void stir(Sum* sum) {
    static const uint32_t constants[BLOCK] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[BLOCK], s[WORDS];
    for (int i = 0; i < 16; i++) {
        const unsigned char* b = sum->block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int i = 16; i < BLOCK; i++) {
        uint32_t low = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t high = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + low + w[i - 7] + high;
    }
    memcpy(s, sum->state, sizeof s);
    for (int i = 0; i < BLOCK; i++) {
        uint32_t first = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
        uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + second;
    }
    for (int i = 0; i < WORDS; i++) {
        sum->state[i] += s[i];
    }
}

static void add(Sum* sum, const void* bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        sum->block[sum->length++ % BLOCK] = ((const unsigned char*)bytes)[i];
        if (sum->length % BLOCK == 0) {
            stir(sum);
        }
    }
}

static void number(Sum* sum, uint64_t n) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(n >> (56 - 8 * i));
    }
    add(sum, bytes, sizeof bytes);
}

/* The first 8 bytes of the hash. */
static uint64_t finish(Sum* sum) {
    static const unsigned char padding[BLOCK] = {0x80};
    uint64_t bits = sum->length * 8;
    add(sum, padding, 1 + (BLOCK + 55 - sum->length % BLOCK) % BLOCK);
    number(sum, bits);
    return (uint64_t)sum->state[0] << 32 | sum->state[1];
}

static void value(Sum* sum, uint64_t kind, uint64_t n) {
    number(sum, kind);
    number(sum, n);
}

/* Begins a member whose value is a number. Negative ones keep their sign in 64 bits. */
static void member(Sum* sum, uint64_t which, uint64_t kind, int64_t n) {
    number(sum, which);
    value(sum, kind, (uint64_t)n);
}

static void point(Sum* sum, int x, int y) {
    value(sum, KIND_STRUCT, 2);
    member(sum, 1, KIND_INT16, x);
    member(sum, 2, KIND_INT16, y);
}

static void pieces(Sum* sum, const World* world) {
    value(sum, KIND_LIST, (uint64_t)world->count);
    for (int i = 0; i < world->count; i++) {
        value(sum, KIND_STRUCT, 2);
        number(sum, 1);
        point(sum, world->pieces[i].x, world->pieces[i].y);
        member(sum, 2, KIND_BOOL, world->pieces[i].taken);
    }
}

/* What is on the field: component Lathe.World. */
static void field(Sum* sum, const World* world) {
    bool still = collet_visible(COLLET_SPAN_PROP_LATHE_WORLD_STILL, world->logic), wind = collet_visible(COLLET_SPAN_PROP_LATHE_WORLD_WIND, world->logic);
    value(sum, KIND_STRUCT, 2u + still + wind);
    member(sum, 1, KIND_UINT32, world->rounds);
    number(sum, 2);
    pieces(sum, world);
    if (still) {
        member(sum, 3, KIND_UINT16, world->still);
    }
    if (wind) {
        number(sum, 4);
        point(sum, world->wind_x, world->wind_y);
    }
}

/* Who steers: component Lathe.Player. */
static void player(Sum* sum, const World* world) {
    bool streak = collet_visible(COLLET_SPAN_PROP_LATHE_PLAYER_STREAK, world->logic);
    value(sum, KIND_STRUCT, 2u + streak);
    number(sum, 1);
    point(sum, world->x, world->y);
    member(sum, 2, KIND_UINT32, world->found);
    if (streak) {
        member(sum, 3, KIND_UINT16, world->streak);
    }
}

uint64_t sum_world(const World* world) {
    static const char prefix[] = "compat/value/1\n";
    Sum sum = {{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}, {0}, 0};
    number(&sum, sizeof prefix - 1);
    add(&sum, prefix, sizeof prefix - 1);
    value(&sum, KIND_STRUCT, 2);
    number(&sum, 1);
    field(&sum, world);
    number(&sum, 2);
    player(&sum, world);
    return finish(&sum);
}

/* world.c: steer the collet and pick up all the pieces; then the next round begins. */
#include "world.h"

enum {
    SPEED = 5,   /* of the player, in pixels a frame */
    MARGIN = 20, /* between pieces and the field's edges, in pixels */
    TRIES = 40,  /* places that are looked at for a piece before it may cover another */
    WIND = 2,    /* logic version from which on there is wind */
    WINDS = 3    /* it is one pixel stronger in each round, and still again after so many */
};

/* A fixed sequence, so that every start of a release looks the same. */
static unsigned next_number(unsigned* state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 16 & 0x7FFF;
}

static int between(unsigned* state, int low, int high) {
    return high > low ? low + (int)(next_number(state) % (unsigned)(high - low)) : low;
}

static int clamp(int value, int low, int high) { return value > high ? high < low ? low : high : value < low ? low : value; }

static bool overlap(int a, int size_a, int b, int size_b) { return a < b + size_b && b < a + size_a; }

static bool covers_another(const World* world, int index) {
    const Piece* piece = &world->pieces[index];
    for (int i = 0; i < index; i++) {
        if (overlap(piece->x, world->piece_width, world->pieces[i].x, world->piece_width) &&
            overlap(piece->y, world->piece_height, world->pieces[i].y, world->piece_height)) {
            return true;
        }
    }
    return false;
}

static bool touches_player(const World* world, const Piece* piece) {
    return overlap(world->x, world->player_width, piece->x, world->piece_width) &&
           overlap(world->y, world->player_height, piece->y, world->piece_height);
}

static void scatter(World* world) {
    unsigned state = WORLD_SEED + (unsigned)world->rounds;
    for (int i = 0; i < world->count; i++) {
        Piece* piece = &world->pieces[i];
        for (int tries = 0; tries < TRIES; tries++) {
            piece->x = between(&state, world->left + MARGIN, world->right - MARGIN - world->piece_width);
            piece->y = between(&state, world->top + MARGIN, world->bottom - MARGIN - world->piece_height);
            if (!covers_another(world, i) && !touches_player(world, piece)) {
                break;
            }
        }
        piece->taken = false;
    }
    world->taken = 0;
}

static void pick_up(World* world) {
    for (int i = 0; i < world->count; i++) {
        Piece* piece = &world->pieces[i];
        if (!piece->taken && touches_player(world, piece)) {
            piece->taken = true;
            world->taken++;
            world->found++;
        }
    }
    if (world->taken == world->count) {
        world->rounds++;
        world->wind_x = world->rounds % WINDS;
        scatter(world);
    }
}

void world_start(World* world) {
    world->x = (world->left + world->right - world->player_width) / 2;
    world->y = (world->top + world->bottom - world->player_height) / 2;
    world->rounds = 0;
    world->wind_x = world->wind_y = 0;
    world->found = 0;
    world->streak = world->still = 0;
    world->frame = 0;
    scatter(world);
}

void world_step(World* world, Steer steer) {
    int wind_x = world->logic >= WIND ? world->wind_x : 0, wind_y = world->logic >= WIND ? world->wind_y : 0;
    uint32_t before = world->found;
    world->x = clamp(world->x + wind_x + SPEED * (steer.right - steer.left), world->left, world->right - world->player_width);
    world->y = clamp(world->y + wind_y + SPEED * (steer.down - steer.up), world->top, world->bottom - world->player_height);
    pick_up(world);
    world->still++;
    if (world->found != before) {
        world->still = 0;
        world->streak++;
    }
    if (!steer.left && !steer.right && !steer.up && !steer.down) {
        world->streak = 0;
    }
    world->frame++;
}

/* world.h: the rules of the game. Nothing here draws, reads or waits. */
#ifndef SAMPLE_WORLD_H
#define SAMPLE_WORLD_H

#include <stdbool.h>

#include "art.h"

/* A piece of work that lies on the field. */
typedef struct Piece {
    int x, y;
    bool taken;
} Piece;

/* Where everything is, in pixels. The field is what the player can reach; pieces keep a margin to its edges. */
typedef struct World {
    int left, top, right, bottom; /* the field */
    int player_width, player_height, piece_width, piece_height;
    int x, y; /* the player's upper left corner */
    int count, taken, rounds;
    long frame;
    Piece pieces[ART_MAX_ITEMS];
} World;

/* Which way the player steers. Opposite directions cancel out. */
typedef struct Steer {
    bool left, right, up, down;
} Steer;

/* Puts the player in the middle and scatters the pieces. The field and the sizes are set before. The same world always
 * starts in the same way. */
void world_start(World* world);

/* Goes on by one frame. */
void world_step(World* world, Steer steer);

#endif

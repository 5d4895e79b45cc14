/* world.h: the rules of the game. Nothing here draws, reads or waits. A game server steps the same world by the same rules
 * (package protocol), so a rule that changes gets a logic version of its own. */
#ifndef SAMPLE_WORLD_H
#define SAMPLE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "art.h"

/* A piece of work that lies on the field. */
typedef struct Piece {
    int x, y;
    bool taken;
} Piece;

/* Where everything is, in pixels. The field is what the player can reach; pieces keep a margin to its edges. */
typedef struct World {
    int32_t logic;                /* version of the rules, from 1; set before the start */
    int left, top, right, bottom; /* the field */
    int player_width, player_height, piece_width, piece_height;
    int x, y;           /* the player's upper left corner */
    int wind_x, wind_y; /* what is added to every step, from logic version 2 on */
    int count, taken, rounds;
    uint32_t found;  /* pieces of all rounds */
    uint16_t streak; /* finds in a row without standing still */
    uint16_t still;  /* steps without a find */
    long frame;
    Piece pieces[ART_MAX_ITEMS];
} World;

/* Which way the player steers. Opposite directions cancel out. */
typedef struct Steer {
    bool left, right, up, down;
} Steer;

/* The number with which the sequence begins that scatters the pieces of the first round. */
enum { WORLD_SEED = 7 };

/* Puts the player in the middle and scatters the pieces. The version, the field and the sizes are set before. The same world
 * always starts in the same way. */
void world_start(World* world);

/* Goes on by one frame. */
void world_step(World* world, Steer steer);

#endif

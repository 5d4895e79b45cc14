/* sum.h: the checksum of the world that a player and a game server compare after each step (package compat, Checksum). */
#ifndef SAMPLE_SUM_H
#define SAMPLE_SUM_H

#include <stdint.h>

#include "world.h"

/* A hash over what the world's logic version has of it. */
uint64_t sum_world(const World* world);

#endif

/* scene.h: what the screen shows of a world. */
#ifndef SAMPLE_SCENE_H
#define SAMPLE_SCENE_H

#include "draw.h"
#include "game.h"
#include "world.h"

/* Sets the world's field and sizes to what is left of the screen beside heading and footer, and to the pictures. */
void scene_measure(World* world, const Art* art);

/* Draws everything. */
void scene_draw(Frame* frame, const World* world, const Art* art, const Build* build);

#endif

/*
 * check.c: reads the packs of every folder named on standard input, one a line, and draws some frames where they can be
 * used. Built with a compiler's sanitizers, it ends with an error as soon as anything is read or written that is not there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../game/art.h"
#include "../game/scene.h"
#include "../game/world.h"

enum { FRAMES = 3 };

static void draw(const Art* art) {
    static const Build build = {1, "check"};
    Frame* frame = malloc(sizeof *frame);
    World world = {0};
    Steer steer = {.right = true, .down = true};
    if (frame == NULL) {
        abort();
    }
    scene_measure(&world, art);
    world.logic = 2;
    world_start(&world);
    for (int i = 0; i < FRAMES; i++) {
        scene_draw(frame, &world, art, &build);
        world_step(&world, steer);
    }
    free(frame);
}

int main(void) {
    char folder[4096], error[PACK_ERROR_SIZE];
    int good = 0, bad = 0;
    while (fgets(folder, sizeof folder, stdin) != NULL) {
        Art art;
        folder[strcspn(folder, "\n")] = 0;
        if (art_load(&art, &(Packs){.folder = folder}, error) == 0) {
            draw(&art);
            art_free(&art);
            good++;
        } else if (error[0] != 0) {
            bad++;
        }
    }
    printf("%d good %d bad\n", good, bad);
    return 0;
}

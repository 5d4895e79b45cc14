/* game.c: the game from its packs to its end, in a window, as text, or with nothing but a look at the packs. */
#include "game.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../abi/client_runtime.h"
#include "art.h"
#include "link.h"
#include "scene.h"
#include "system.h"
#include "view.h"
#include "world.h"

enum {
    TEXT_FRAMES = 50,     /* how long the game without a window lasts, in frames */
    TEXT_FRAME_TIME = 20, /* milliseconds */
    TEXT_LEG = 10,        /* frames for which it steers into one direction */
    MAX_LINE = 256
};

/* One run of the game. */
typedef struct Game {
    const Options* options;
    const Build* build;
    const Speech* speech;
    Art art;
    World world;
    Link link; /* to a game server, if there is one */
} Game;

static void say(const Game* game, int level, const char* text, const char* detail) {
    char line[PACK_ERROR_SIZE + MAX_LINE];
    snprintf(line, sizeof line, "%s%s", text, detail);
    game->speech->log(level, line);
}

/* The first frame is on the screen. */
static void arrive(const Game* game) {
    if (!game->options->never_ready) {
        game->speech->ready();
    }
    if (game->options->late) {
        mischief(game->options);
    }
}

/* One step, here and on the game server. Where that sees another world the game goes on by itself, and says so. */
static void step(Game* game, Steer steer) {
    char error[LINK_ERROR_SIZE];
    world_step(&game->world, steer);
    if (!link_step(&game->link, &game->world, steer, error)) {
        say(game, COLLET_LOG_ERROR, "out of step with the game server: ", error);
    }
}

static void greet(Game* game) {
    char error[LINK_ERROR_SIZE], line[MAX_LINE];
    if (game->options->server == NULL) {
        return;
    }
    if (!link_open(&game->link, game->options->server, &game->world, error)) {
        say(game, COLLET_LOG_WARN, "no game server, the game plays alone: ", error);
        return;
    }
    snprintf(line, sizeof line, "%.100s, logic version %d", game->options->server, (int)game->world.logic);
    say(game, COLLET_LOG_INFO, "plays in step with the game server ", line);
}

/* Says how far the game server went along. */
static void leave(Game* game) {
    char line[MAX_LINE];
    if (game->link.open) {
        snprintf(line, sizeof line, "%lu steps, logic version %d, checksum %016" PRIx64, (unsigned long)game->link.steps, (int)game->world.logic, game->link.sum);
        say(game, COLLET_LOG_INFO, "in step with the game server to the end: ", line);
        link_close(&game->link);
    }
}

static bool wants_more(const Game* game, long limit) {
    return (limit == 0 || game->world.frame < limit) && !game->speech->stopping();
}

static bool play(Game* game, View* view) {
    Frame* frame = calloc(1, sizeof *frame);
    Input input = {0};
    bool shown = frame != NULL;
    if (!shown) {
        say(game, COLLET_LOG_ERROR, "no memory for a frame", "");
    }
    while (shown && !input.quit && wants_more(game, game->options->frames)) {
        scene_draw(frame, &game->world, &game->art, game->build);
        shown = view_show(view, frame);
        if (!shown) {
            say(game, COLLET_LOG_ERROR, "a frame can't be shown", "");
        } else if (game->world.frame == 0) {
            arrive(game);
        }
        view_input(view, &input);
        step(game, input.steer);
    }
    free(frame);
    return shown;
}

/* The game without a window: it plays by itself for a while and tells what it does. */
static bool play_text(Game* game) {
    static const Steer legs[] = {{.right = true}, {.down = true}, {.left = true}, {.up = true}};
    World* world = &game->world;
    long limit = game->options->frames > 0 ? game->options->frames : TEXT_FRAMES;
    printf("%s - release %d (%s)\n%s\n", game->art.title, game->build->release, game->build->compatibility, game->art.greeting);
    fflush(stdout);
    arrive(game);
    while (wants_more(game, limit)) {
        step(game, legs[world->frame / TEXT_LEG % 4]);
        system_sleep(TEXT_FRAME_TIME);
        if (world->frame % TEXT_LEG == 0 || world->frame == limit) {
            printf("the tool stands at %d, %d and has %d of %d pieces\n", world->x, world->y, world->taken, world->count);
            fflush(stdout);
        }
    }
    return true;
}

static bool look_only(const Game* game) {
    printf("game: release %d (%s) read 2 packs: title \"%s\", 3 pictures, %d items\n", game->build->release,
           game->build->compatibility, game->art.title, game->art.items);
    fflush(stdout);
    arrive(game);
    return true;
}

static bool play_somewhere(Game* game) {
    char title[MAX_LINE], error[PACK_ERROR_SIZE];
    View* view;
    bool well;
    snprintf(title, sizeof title, "%s - release %d", game->options->title != NULL ? game->options->title : game->art.title, game->build->release);
    view = view_open(title, error);
    if (view == NULL) {
        say(game, COLLET_LOG_WARN, "no window, the game runs in text: ", error);
        return play_text(game);
    }
    well = play(game, view);
    view_close(view);
    return well;
}

bool game_run(const Options* options, const Build* build, const Speech* speech) {
    Game game = {.options = options, .build = build, .speech = speech};
    char error[PACK_ERROR_SIZE];
    bool well;
    if (options->packs.folder == NULL) {
        say(&game, COLLET_LOG_ERROR, "no packs: --ClientResources is missing", "");
        return false;
    }
    if (art_load(&game.art, &options->packs, error) != 0) {
        say(&game, COLLET_LOG_ERROR, "packs can't be used: ", error);
        return false;
    }
    say(&game, COLLET_LOG_INFO, "packs read, title ", game.art.title);
    scene_measure(&game.world, &game.art);
    game.world.logic = options->logic;
    world_start(&game.world);
    greet(&game);
    well = options->headless ? look_only(&game) : play_somewhere(&game);
    leave(&game);
    art_free(&game.art);
    return well;
}

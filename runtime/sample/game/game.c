/* game.c: a small game. Steer the collet with the arrow keys and pick up all the work pieces. */
#include "game.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../abi/client_runtime.h"
#include "art.h"
#include "view.h"

enum {
    MARGIN = 24, /* pixels */
    GAP = 8,
    SPEED = 5,        /* pixels a frame */
    TEXT_FRAMES = 50, /* how long the game without a window lasts, in frames */
    MAX_LINE = 256
};

/* Where everything is. */
typedef struct World {
    const Art* art;
    const Build* build;
    int x, y;
    struct {
        int x, y;
        bool taken;
    } items[ART_MAX_ITEMS];
    int taken, rounds;
    long frame;
} World;

static void say(const Speech* speech, int level, const char* text, const char* detail) {
    char line[PACK_ERROR_SIZE + MAX_LINE];
    snprintf(line, sizeof line, "%s%s", text, detail);
    speech->log(level, line);
}

/* A fixed sequence, so that every start of a release looks the same. */
static unsigned next_number(unsigned* state) {
    *state = *state * 1103515245u + 12345u;
    return *state >> 16 & 0x7FFF;
}

/* The heading has two lines of text, the footer one. Small fonts are drawn twice as large in the title. */
static int row(const Art* art) { return art->font.height / 6; }
static int title_scale(const Art* art) { return row(art) < 20 ? 2 : 1; }
static int heading(const Art* art) { return row(art) * (title_scale(art) + 1) + 3 * GAP; }
static int footer(const Art* art) { return row(art) + 2 * GAP; }

static void scatter(World* world) {
    unsigned state = 7u + (unsigned)world->rounds;
    int top = heading(world->art) + MARGIN;
    int width = FIELD_WIDTH - 2 * MARGIN - world->art->item.width;
    int height = FIELD_HEIGHT - footer(world->art) - MARGIN - top - world->art->item.height;
    for (int i = 0; i < world->art->items; i++) {
        world->items[i].x = MARGIN + (int)(next_number(&state) % (unsigned)(width > 0 ? width : 1));
        world->items[i].y = top + (int)(next_number(&state) % (unsigned)(height > 0 ? height : 1));
        world->items[i].taken = false;
    }
    world->taken = 0;
}

static int clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

static bool overlap(int a, int size_a, int b, int size_b) { return a < b + size_b && b < a + size_a; }

static void pick_up(World* world) {
    const Picture *player = &world->art->player, *item = &world->art->item;
    for (int i = 0; i < world->art->items; i++) {
        if (!world->items[i].taken && overlap(world->x, player->width, world->items[i].x, item->width) &&
            overlap(world->y, player->height, world->items[i].y, item->height)) {
            world->items[i].taken = true;
            world->taken++;
        }
    }
    if (world->taken == world->art->items) {
        world->rounds++;
        scatter(world);
    }
}

static void step(World* world, const Input* input) {
    int top = heading(world->art), right = FIELD_WIDTH - world->art->player.width;
    int bottom = FIELD_HEIGHT - footer(world->art) - world->art->player.height;
    world->x = clamp(world->x + SPEED * (input->right - input->left), 0, right > 0 ? right : 0);
    world->y = clamp(world->y + SPEED * (input->down - input->up), top, bottom > top ? bottom : top);
    pick_up(world);
    world->frame++;
}

static void draw_heading(const World* world, Frame* frame) {
    const Art* art = world->art;
    int height = heading(art), scale = title_scale(art), below = 2 * GAP + row(art) * scale;
    char line[MAX_LINE];
    draw_box(frame, 0, 0, FIELD_WIDTH, height, art->panel);
    draw_box(frame, 0, height - 3, FIELD_WIDTH, 3, art->accent);
    draw_text(frame, &art->font, MARGIN, GAP, scale, art->accent, art->title);
    snprintf(line, sizeof line, "release %d, compatibility %s", world->build->release, world->build->compatibility);
    draw_text(frame, &art->font, MARGIN, below, 1, 0xFFFFFFFFu, line);
    snprintf(line, sizeof line, "pieces %d/%d  round %d", world->taken, art->items, world->rounds + 1);
    draw_text(frame, &art->font, FIELD_WIDTH - MARGIN - text_width(&art->font, 1, line), GAP, 1, art->accent, line);
}

static void draw_footer(const World* world, Frame* frame) {
    static const char keys[] = "arrows steer, Escape ends";
    const Art* art = world->art;
    int top = FIELD_HEIGHT - footer(art);
    draw_box(frame, 0, top, FIELD_WIDTH, footer(art), art->panel);
    draw_text(frame, &art->font, MARGIN, top + GAP, 1, art->accent, art->greeting);
    draw_text(frame, &art->font, FIELD_WIDTH - MARGIN - text_width(&art->font, 1, keys), top + GAP, 1, 0xFFFFFFFFu, keys);
}

static void draw(const World* world, Frame* frame) {
    const Art* art = world->art;
    draw_box(frame, 0, 0, FIELD_WIDTH, FIELD_HEIGHT, art->background);
    for (int i = 0; i < art->items; i++) {
        if (!world->items[i].taken) {
            /* The pieces bob, so that one sees the game running. */
            int bob = (int)((world->frame / 8 + i * 3) % 8);
            draw_picture(frame, &art->item, world->items[i].x, world->items[i].y + (bob < 4 ? bob : 8 - bob));
        }
    }
    draw_picture(frame, &art->player, world->x, world->y);
    draw_heading(world, frame);
    draw_footer(world, frame);
}

static bool play(World* world, View* view, const Options* options, const Speech* speech) {
    Frame* frame = calloc(1, sizeof *frame);
    Input input = {0};
    if (frame == NULL) {
        say(speech, COLLET_LOG_ERROR, "no memory for a frame", "");
        return false;
    }
    while (!input.quit && (options->frames == 0 || world->frame < options->frames)) {
        draw(world, frame);
        view_show(view, frame);
        if (world->frame == 0 && !options->never_ready) {
            speech->ready();
        }
        view_input(view, &input);
        step(world, &input);
    }
    free(frame);
    return true;
}

/* The game without a window: what it would show, as text, for a while. */
static bool play_text(World* world, const Options* options, const Speech* speech) {
    long last = options->frames > 0 ? options->frames : TEXT_FRAMES;
    Input input = {0};
    printf("%s - release %d (%s)\n%s\n", world->art->title, world->build->release, world->build->compatibility, world->art->greeting);
    if (!options->never_ready) {
        speech->ready();
    }
    for (; world->frame < last; step(world, &input)) {
        input.right = world->frame % 20 < 10;
        input.down = world->frame % 20 >= 10;
        input.left = input.up = false;
    }
    printf("the tool stands at %d, %d with %d of %d pieces\n", world->x, world->y, world->taken, world->art->items);
    fflush(stdout);
    return true;
}

static bool check_only(const World* world, const Options* options, const Speech* speech) {
    printf("game: release %d (%s) read 2 packs: title \"%s\", 3 pictures, %d items\n", world->build->release,
           world->build->compatibility, world->art->title, world->art->items);
    fflush(stdout);
    if (!options->never_ready) {
        speech->ready();
    }
    return true;
}

static bool play_somewhere(World* world, const Options* options, const Speech* speech) {
    char title[MAX_LINE], error[PACK_ERROR_SIZE];
    View* view;
    bool well;
    snprintf(title, sizeof title, "%s - release %d", world->art->title, world->build->release);
    view = view_open(title, error);
    if (view == NULL) {
        say(speech, COLLET_LOG_WARN, "no window, the game runs in text: ", error);
        return play_text(world, options, speech);
    }
    well = play(world, view, options, speech);
    view_close(view);
    return well;
}

bool game_run(const Options* options, const Build* build, const Speech* speech) {
    Art art;
    World world = {.art = &art, .build = build, .x = FIELD_WIDTH / 2 - 48, .y = FIELD_HEIGHT / 2};
    char error[PACK_ERROR_SIZE];
    bool well;
    if (options->packs == NULL) {
        say(speech, COLLET_LOG_ERROR, "no packs: --ClientResources is missing", "");
        return false;
    }
    if (art_load(&art, options->packs, error) != 0) {
        say(speech, COLLET_LOG_ERROR, "packs can't be used: ", error);
        return false;
    }
    say(speech, COLLET_LOG_INFO, "packs read, title ", art.title);
    scatter(&world);
    well = options->headless ? check_only(&world, options, speech) : play_somewhere(&world, options, speech);
    art_free(&art);
    return well;
}

/* scene.c: a heading with title, versions and score; the field with the pieces and the player; a footer. */
#include "scene.h"

#include <stdio.h>

enum {
    MARGIN = 24, /* pixels between text and the sides */
    GAP = 8,     /* pixels between lines of text */
    EDGE = 3,    /* height of the line under the heading */
    GRID = 48,   /* pixels between two lines of the field */
    SHADOW = 6,  /* pixels by which a shadow is off */
    BOB = 8,     /* a piece goes up and down in so many steps, each BOB frames long */
    SMALL = 20,  /* a font of fewer pixels is drawn twice as large in the title */
    MAX_LINE = 256
};

static const uint32_t white = 0xFFFFFFFFu;

static int row(const Art* art) { return art->font.height / 6; }
static int title_scale(const Art* art) { return row(art) < SMALL ? 2 : 1; }
static int heading(const Art* art) { return row(art) * (title_scale(art) + 1) + 3 * GAP + EDGE; }
static int footer(const Art* art) { return row(art) + 2 * GAP; }

void scene_measure(World* world, const Art* art) {
    world->left = 0;
    world->right = FIELD_WIDTH;
    world->top = heading(art);
    world->bottom = FIELD_HEIGHT - footer(art);
    world->player_width = art->player.width;
    world->player_height = art->player.height;
    world->piece_width = art->item.width;
    world->piece_height = art->item.height;
    world->count = art->items;
}

static void text_right(Frame* frame, const Art* art, int y, uint32_t colour, const char* text) {
    draw_text(frame, &art->font, FIELD_WIDTH - MARGIN - text_width(&art->font, 1, text), y, 1, colour, text);
}

static void draw_heading(Frame* frame, const World* world, const Art* art, const Build* build) {
    int height = heading(art), below = 2 * GAP + row(art) * title_scale(art);
    char line[MAX_LINE];
    draw_box(frame, 0, 0, FIELD_WIDTH, height, art->panel);
    draw_box(frame, 0, height - EDGE, FIELD_WIDTH, EDGE, art->accent);
    draw_text(frame, &art->font, MARGIN, GAP, title_scale(art), art->accent, art->title);
    snprintf(line, sizeof line, "release %d   compatibility %s", build->release, build->compatibility);
    draw_text(frame, &art->font, MARGIN, below, 1, white, line);
    snprintf(line, sizeof line, "round %d", world->rounds + 1);
    text_right(frame, art, GAP, art->accent, line);
    snprintf(line, sizeof line, "pieces %d/%d", world->taken, world->count);
    text_right(frame, art, below, white, line);
}

static void draw_footer(Frame* frame, const World* world, const Art* art) {
    draw_box(frame, 0, world->bottom, FIELD_WIDTH, footer(art), art->panel);
    draw_text(frame, &art->font, MARGIN, world->bottom + GAP, 1, art->accent, art->greeting);
    text_right(frame, art, world->bottom + GAP, white, "arrows steer, Escape ends");
}

static void draw_field(Frame* frame, const World* world, const Art* art) {
    uint32_t line = draw_mix(art->background, art->accent, 20);
    draw_box(frame, world->left, world->top, world->right - world->left, world->bottom - world->top, art->background);
    for (int x = world->left + GRID / 2; x < world->right; x += GRID) {
        draw_box(frame, x, world->top, 1, world->bottom - world->top, line);
    }
    for (int y = world->top + GRID / 2; y < world->bottom; y += GRID) {
        draw_box(frame, world->left, y, world->right - world->left, 1, line);
    }
}

static void draw_pieces(Frame* frame, const World* world, const Art* art) {
    for (int i = 0; i < world->count; i++) {
        const Piece* piece = &world->pieces[i];
        /* The pieces bob, so that one sees the game running. */
        int step = (int)((world->frame / BOB + i * 3) % BOB), rise = step < BOB / 2 ? step : BOB - step;
        if (!piece->taken) {
            draw_shadow(frame, &art->item, piece->x + SHADOW, piece->y + SHADOW);
            draw_picture(frame, &art->item, piece->x, piece->y - rise);
        }
    }
}

void scene_draw(Frame* frame, const World* world, const Art* art, const Build* build) {
    draw_field(frame, world, art);
    draw_pieces(frame, world, art);
    draw_shadow(frame, &art->player, world->x + SHADOW, world->y + SHADOW);
    draw_picture(frame, &art->player, world->x, world->y);
    draw_heading(frame, world, art, build);
    draw_footer(frame, world, art);
}

/* pack.h: reading resource packs, which are zip files with stored entries. */
#ifndef SAMPLE_PACK_H
#define SAMPLE_PACK_H

#include <stddef.h>
#include <stdint.h>

/* A pack that was read whole. Zero it before use; close it after. */
typedef struct Pack {
    unsigned char* bytes;
    size_t size;
    char name[4096];
} Pack;

/*
 * Where the packs are. patched and list may be NULL. A pack in patched takes precedence over the one of its name in
 * folder; of the packs in folder only those count that list names, one a line, if there is a list.
 */
typedef struct Packs {
    const char *folder, *patched, *list;
} Packs;

/* Bytes inside a pack. They live as long as the pack is open. */
typedef struct Span {
    const unsigned char* bytes;
    size_t size;
} Span;

enum { PACK_ERROR_SIZE = 4608 };

/* Reads the pack of a name. Returns 0, or -1 with the reason in error, which has PACK_ERROR_SIZE bytes. */
int pack_open(Pack* pack, const Packs* where, const char* name, char* error);

/* Finds an entry and checks its checksum. Returns 0, or -1 with the reason in error. */
int pack_find(const Pack* pack, const char* entry, Span* found, char* error);

void pack_close(Pack* pack);

#endif

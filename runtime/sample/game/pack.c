/*
 * pack.c: a reader for zip files with stored entries. Every offset and length comes from a file that an attacker may have
 * written, so each is checked against the file's size before it is used.
 */
#include "pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"

/* The largest pack that the game opens, in bytes: its own two packs are far below a megabyte. */
static const long max_pack = 64L << 20;

static uint32_t u16(const unsigned char* p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32(const unsigned char* p) { return u16(p) | u16(p + 2) << 16; }

static int fail(char* error, const char* pack, const char* entry, const char* reason) {
    snprintf(error, PACK_ERROR_SIZE, "%.4095s%s%.128s: %s", pack, *entry ? ": " : "", entry, reason);
    return -1;
}

static uint32_t crc32_of(const unsigned char* p, size_t n) {
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        }
    }
    return ~crc;
}

static int read_whole(Pack* pack, FILE* file, char* error) {
    long size;
    if (fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
        return fail(error, pack->name, "", "can't be measured");
    }
    if (size > max_pack) {
        return fail(error, pack->name, "", "is larger than the game reads");
    }
    pack->bytes = malloc((size_t)size + 1);
    if (pack->bytes == NULL) {
        return fail(error, pack->name, "", "does not fit into memory");
    }
    pack->size = fread(pack->bytes, 1, (size_t)size, file);
    if (pack->size != (size_t)size) {
        return fail(error, pack->name, "", "can't be read to its end");
    }
    return 0;
}

/* Opens folder/name. Returns -1 with the reason for anything but a file that is not there, which leaves *file NULL. */
static int find(Pack* pack, const char* folder, const char* name, FILE** file, char* error) {
    int n = snprintf(pack->name, sizeof pack->name, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof pack->name) {
        return fail(error, name, "", "has too long a path");
    }
    errno = 0;
    *file = system_open_file(pack->name);
    if (*file == NULL && errno != ENOENT && errno != ENOTDIR) {
        return fail(error, pack->name, "", "can't be opened");
    }
    return 0;
}

enum { MAX_NAME = 1200 }; /* bytes that are read of a list at once */

/* Whether a list names a pack: 1, 0, or -1 with the reason. */
static int listed(const char* list, const char* name, char* error) {
    char line[MAX_NAME];
    int found = 0, begun = 0; /* begun: what comes next goes on with a longer line */
    FILE* file = system_open_file(list);
    if (file == NULL) {
        return fail(error, list, "", "can't be opened");
    }
    while (!found && fgets(line, sizeof line, file) != NULL) {
        size_t end = strcspn(line, "\n");
        int whole = !begun;
        begun = line[end] == 0;
        line[end] = 0;
        found = whole && strcmp(line, name) == 0;
    }
    fclose(file);
    return found;
}

/* Finds the file that counts. Returns -1 with the reason if there is none. */
static int choose(Pack* pack, const Packs* where, const char* name, FILE** file, char* error) {
    int counts = 1;
    *file = NULL;
    if (where->patched != NULL && (find(pack, where->patched, name, file, error) != 0 || *file != NULL)) {
        return *file != NULL ? 0 : -1;
    }
    if (where->list != NULL && (counts = listed(where->list, name, error)) < 0) {
        return -1;
    }
    if (!counts) {
        return fail(error, name, "", "is not among the packs of this release");
    }
    if (find(pack, where->folder, name, file, error) != 0) {
        return -1;
    }
    return *file != NULL ? 0 : fail(error, pack->name, "", "can't be opened");
}

int pack_open(Pack* pack, const Packs* where, const char* name, char* error) {
    FILE* file;
    int result;
    if (choose(pack, where, name, &file, error) != 0) {
        return -1;
    }
    result = read_whole(pack, file, error);
    fclose(file);
    if (result != 0) {
        pack_close(pack);
    }
    return result;
}

/* The end record is 22 bytes and may have a comment of up to 65535 bytes behind it. */
static const unsigned char* end_record(const Pack* pack) {
    size_t back;
    for (back = 22; back <= pack->size && back <= 22 + 65535; back++) {
        const unsigned char* p = pack->bytes + pack->size - back;
        if (u32(p) == 0x06054B50u && u16(p + 20) + 22u == back) {
            return p;
        }
    }
    return NULL;
}

/* Takes the entry whose central record is at p. */
static int take(const Pack* pack, const unsigned char* p, const char* entry, Span* found, char* error) {
    size_t at = u32(p + 42), size = u32(p + 24), start;
    if (u16(p + 8) & 1) {
        return fail(error, pack->name, entry, "is encrypted");
    }
    if (u16(p + 10) != 0 || u32(p + 20) != size) {
        return fail(error, pack->name, entry, "is compressed; the game reads stored entries only");
    }
    if (at > pack->size || pack->size - at < 30 || u32(pack->bytes + at) != 0x04034B50u) {
        return fail(error, pack->name, entry, "has no header where the directory says");
    }
    start = at + 30 + u16(pack->bytes + at + 26) + u16(pack->bytes + at + 28);
    if (start > pack->size || pack->size - start < size) {
        return fail(error, pack->name, entry, "reaches over the end of the pack");
    }
    if (crc32_of(pack->bytes + start, size) != u32(p + 16)) {
        return fail(error, pack->name, entry, "has a wrong checksum");
    }
    found->bytes = pack->bytes + start;
    found->size = size;
    return 0;
}

int pack_find(const Pack* pack, const char* entry, Span* found, char* error) {
    const unsigned char* end = end_record(pack);
    size_t at, count, length = strlen(entry);
    if (end == NULL) {
        return fail(error, pack->name, "", "is not a zip file");
    }
    at = u32(end + 16);
    for (count = u16(end + 10); count > 0; count--) {
        const unsigned char* p;
        size_t name, whole;
        if (at > pack->size || pack->size - at < 46) {
            break;
        }
        p = pack->bytes + at;
        if (u32(p) != 0x02014B50u) {
            break;
        }
        name = u16(p + 28);
        whole = 46 + name + u16(p + 30) + u16(p + 32);
        if (pack->size - at < whole) {
            break;
        }
        if (name == length && memcmp(p + 46, entry, length) == 0) {
            return take(pack, p, entry, found, error);
        }
        at += whole;
    }
    return fail(error, pack->name, entry, count > 0 ? "can't be found, the directory is damaged" : "is not in the pack");
}

void pack_close(Pack* pack) {
    free(pack->bytes);
    pack->bytes = NULL;
    pack->size = 0;
}

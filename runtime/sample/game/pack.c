/*
 * pack.c: a reader for zip files with stored entries. Every offset and length comes from a file that anybody may have
 * written, so each is checked against the file's size before it is used.
 */
#include "pack.h"

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

int pack_open(Pack* pack, const char* folder, const char* name, char* error) {
    FILE* file;
    int result, n = snprintf(pack->name, sizeof pack->name, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof pack->name) {
        return fail(error, name, "", "has too long a path");
    }
    file = system_open_file(pack->name);
    if (file == NULL) {
        return fail(error, pack->name, "", "can't be opened");
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

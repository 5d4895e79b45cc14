/*
 * client_areas.h: the three areas of a runtime module that packaging fills in.
 *
 * Include it in exactly ONE C or C++ file of the module, compiled once. It defines the areas there, and functions that read them.
 * Build the module; `collet pack` then writes into the built file, without changing its size:
 *
 *   embedded resources  a zip, for the game to use as it likes       COLLET_RESOURCES_CAPACITY bytes
 *   internal config     settings in TOML, one "Name = value" a line  COLLET_CONFIG_CAPACITY bytes
 *   packaged name       what the package calls the program           128 bytes, always
 *
 * A packaged host starts the module with the arguments "--packaged NAME". A module that is started so and was not packaged
 * itself (collet_area_config gives NULL) must end with FO_CLIENT_RUNTIME_FATAL_ERROR and say so in the log: it does not belong to
 * this package. A module that is linked into a host must not include this header: a program has one set of areas, and there
 * it is the host's.
 *
 * The areas are found by their text, and the first place that has it counts. So do not write that text anywhere else in the
 * module, not even to look whether it is there: the functions below do that piecemeal.
 *
 * The areas are volatile because they change after the compiler has seen them: read them through these functions, or byte by
 * byte, never after a cast that takes "volatile" away.
 *
 * It needs C11 or C++11 and nothing else.
 */
#ifndef COLLET_CLIENT_AREAS_H
#define COLLET_CLIENT_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes for resources, with four of them for a length: a multiple of 5000 from 10000 to 5000000. */
#ifndef COLLET_RESOURCES_CAPACITY
#define COLLET_RESOURCES_CAPACITY 200000
#endif

/* Bytes for settings: 47, which is the text of the markers alone, to 100000. */
#ifndef COLLET_CONFIG_CAPACITY
#define COLLET_CONFIG_CAPACITY 10000
#endif

/* Bytes for the name, with the zero that ends it. */
#define COLLET_NAME_CAPACITY 128

#if COLLET_RESOURCES_CAPACITY < 10000 || COLLET_RESOURCES_CAPACITY > 5000000 || COLLET_RESOURCES_CAPACITY % 5000 != 0
#error "COLLET_RESOURCES_CAPACITY must be a multiple of 5000 from 10000 to 5000000"
#endif
#if COLLET_CONFIG_CAPACITY < 47 || COLLET_CONFIG_CAPACITY > 100000
#error "COLLET_CONFIG_CAPACITY must be from 47 to 100000"
#endif

#if defined(__GNUC__) && defined(_WIN32)
#define COLLET_AREA_ATTRIBUTES __attribute__((used))
#elif defined(__GNUC__)
#define COLLET_AREA_ATTRIBUTES __attribute__((visibility("hidden"), used))
#else
#define COLLET_AREA_ATTRIBUTES
#endif

/* One period of the pattern, bytes (i+42) mod 200; powers of two of 25 periods, 5000 bytes. */
#define COLLET_AREA_ROW \
    42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, \
    62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, \
    82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, \
    102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, \
    122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, \
    142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, \
    162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180, 181, \
    182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 0, 1, \
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, \
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41,
#define COLLET_AREA_ROW5 COLLET_AREA_ROW COLLET_AREA_ROW COLLET_AREA_ROW COLLET_AREA_ROW COLLET_AREA_ROW
#define COLLET_AREA_B0 COLLET_AREA_ROW5 COLLET_AREA_ROW5 COLLET_AREA_ROW5 COLLET_AREA_ROW5 COLLET_AREA_ROW5
#define COLLET_AREA_B1 COLLET_AREA_B0 COLLET_AREA_B0
#define COLLET_AREA_B2 COLLET_AREA_B1 COLLET_AREA_B1
#define COLLET_AREA_B3 COLLET_AREA_B2 COLLET_AREA_B2
#define COLLET_AREA_B4 COLLET_AREA_B3 COLLET_AREA_B3
#define COLLET_AREA_B5 COLLET_AREA_B4 COLLET_AREA_B4
#define COLLET_AREA_B6 COLLET_AREA_B5 COLLET_AREA_B5
#define COLLET_AREA_B7 COLLET_AREA_B6 COLLET_AREA_B6
#define COLLET_AREA_B8 COLLET_AREA_B7 COLLET_AREA_B7
#define COLLET_AREA_B9 COLLET_AREA_B8 COLLET_AREA_B8
#define COLLET_AREA_BLOCKS (COLLET_RESOURCES_CAPACITY / 5000)

/* Powers of two of a digit. */
#define COLLET_AREA_D0 '5',
#define COLLET_AREA_D1 COLLET_AREA_D0 COLLET_AREA_D0
#define COLLET_AREA_D2 COLLET_AREA_D1 COLLET_AREA_D1
#define COLLET_AREA_D3 COLLET_AREA_D2 COLLET_AREA_D2
#define COLLET_AREA_D4 COLLET_AREA_D3 COLLET_AREA_D3
#define COLLET_AREA_D5 COLLET_AREA_D4 COLLET_AREA_D4
#define COLLET_AREA_D6 COLLET_AREA_D5 COLLET_AREA_D5
#define COLLET_AREA_D7 COLLET_AREA_D6 COLLET_AREA_D6
#define COLLET_AREA_D8 COLLET_AREA_D7 COLLET_AREA_D7
#define COLLET_AREA_D9 COLLET_AREA_D8 COLLET_AREA_D8
#define COLLET_AREA_D10 COLLET_AREA_D9 COLLET_AREA_D9
#define COLLET_AREA_D11 COLLET_AREA_D10 COLLET_AREA_D10
#define COLLET_AREA_D12 COLLET_AREA_D11 COLLET_AREA_D11
#define COLLET_AREA_D13 COLLET_AREA_D12 COLLET_AREA_D12
#define COLLET_AREA_D14 COLLET_AREA_D13 COLLET_AREA_D13
#define COLLET_AREA_D15 COLLET_AREA_D14 COLLET_AREA_D14
#define COLLET_AREA_D16 COLLET_AREA_D15 COLLET_AREA_D15
#define COLLET_AREA_DIGITS (COLLET_CONFIG_CAPACITY - 47)

#ifdef __cplusplus
extern "C" {
#endif

/* Declared first, so that they are linked by name in C++, too: a second file with this header is an error of the linker. */
extern const volatile unsigned char collet_area_of_resources[COLLET_RESOURCES_CAPACITY];
extern const volatile unsigned char collet_area_of_config[COLLET_CONFIG_CAPACITY];
extern const volatile unsigned char collet_area_of_name[COLLET_NAME_CAPACITY];

COLLET_AREA_ATTRIBUTES const volatile unsigned char collet_area_of_resources[COLLET_RESOURCES_CAPACITY] = {
#if COLLET_AREA_BLOCKS & 1
    COLLET_AREA_B0
#endif
#if COLLET_AREA_BLOCKS & 2
    COLLET_AREA_B1
#endif
#if COLLET_AREA_BLOCKS & 4
    COLLET_AREA_B2
#endif
#if COLLET_AREA_BLOCKS & 8
    COLLET_AREA_B3
#endif
#if COLLET_AREA_BLOCKS & 16
    COLLET_AREA_B4
#endif
#if COLLET_AREA_BLOCKS & 32
    COLLET_AREA_B5
#endif
#if COLLET_AREA_BLOCKS & 64
    COLLET_AREA_B6
#endif
#if COLLET_AREA_BLOCKS & 128
    COLLET_AREA_B7
#endif
#if COLLET_AREA_BLOCKS & 256
    COLLET_AREA_B8
#endif
#if COLLET_AREA_BLOCKS & 512
    COLLET_AREA_B9
#endif
};

COLLET_AREA_ATTRIBUTES const volatile unsigned char collet_area_of_config[COLLET_CONFIG_CAPACITY] = {
    '#', '#', '#', 'I', 'n', 't', 'e', 'r', 'n', 'a', 'l', 'C', 'o', 'n', 'f', 'i', 'g',
    '#', '#', '#', '1', '2', '3', '4',
#if COLLET_AREA_DIGITS & 1
    COLLET_AREA_D0
#endif
#if COLLET_AREA_DIGITS & 2
    COLLET_AREA_D1
#endif
#if COLLET_AREA_DIGITS & 4
    COLLET_AREA_D2
#endif
#if COLLET_AREA_DIGITS & 8
    COLLET_AREA_D3
#endif
#if COLLET_AREA_DIGITS & 16
    COLLET_AREA_D4
#endif
#if COLLET_AREA_DIGITS & 32
    COLLET_AREA_D5
#endif
#if COLLET_AREA_DIGITS & 64
    COLLET_AREA_D6
#endif
#if COLLET_AREA_DIGITS & 128
    COLLET_AREA_D7
#endif
#if COLLET_AREA_DIGITS & 256
    COLLET_AREA_D8
#endif
#if COLLET_AREA_DIGITS & 512
    COLLET_AREA_D9
#endif
#if COLLET_AREA_DIGITS & 1024
    COLLET_AREA_D10
#endif
#if COLLET_AREA_DIGITS & 2048
    COLLET_AREA_D11
#endif
#if COLLET_AREA_DIGITS & 4096
    COLLET_AREA_D12
#endif
#if COLLET_AREA_DIGITS & 8192
    COLLET_AREA_D13
#endif
#if COLLET_AREA_DIGITS & 16384
    COLLET_AREA_D14
#endif
#if COLLET_AREA_DIGITS & 32768
    COLLET_AREA_D15
#endif
#if COLLET_AREA_DIGITS & 65536
    COLLET_AREA_D16
#endif
    '#', '#', '#', 'I', 'n', 't', 'e', 'r', 'n', 'a', 'l', 'C', 'o', 'n', 'f', 'i', 'g', 'E', 'n', 'd',
    '#', '#', '#',
};

COLLET_AREA_ATTRIBUTES const volatile unsigned char collet_area_of_name[COLLET_NAME_CAPACITY] = {
    '#', '#', '#', 'N', 'o', 't', 'P', 'a', 'c', 'k', 'a', 'g', 'e', 'd', '#', '#', '#',
};

/* Whether an area still begins with ###word###. */
static inline bool collet_area_is_marked(const volatile unsigned char* area, const char* word) {
    size_t i = 3;
    if (area[0] != '#' || area[1] != '#' || area[2] != '#') {
        return false;
    }
    while (*word != 0) {
        if (area[i++] != (unsigned char)*word++) {
            return false;
        }
    }
    return area[i] == '#' && area[i + 1] == '#' && area[i + 2] == '#';
}

/* The packaged name, ended by a zero; NULL: the module was not packaged. */
static inline const volatile unsigned char* collet_area_name(void) {
    return collet_area_is_marked(collet_area_of_name, "NotPackaged") ? NULL : collet_area_of_name;
}

/* The settings, *size bytes of UTF-8 without a zero at the end; NULL: the module was not packaged. They are without the line
 * that packaging puts before them, and without any # that they ended with: packaging fills the area up with these. */
static inline const volatile unsigned char* collet_area_config(size_t* size) {
    size_t n = COLLET_CONFIG_CAPACITY, first = 0;
    *size = 0;
    if (collet_area_is_marked(collet_area_of_config, "InternalConfig")) {
        return NULL;
    }
    if (collet_area_is_marked(collet_area_of_config, "Packaged")) {
        while (first < n && collet_area_of_config[first++] != '\n') {
        }
    }
    while (n > first && collet_area_of_config[n - 1] == '#') {
        n--;
    }
    *size = n - first;
    return collet_area_of_config + first;
}

/* The zip of resources, *size bytes, 0 where there are none; NULL: the module was not packaged. */
static inline const volatile unsigned char* collet_area_resources(size_t* size) {
    const volatile unsigned char* area = collet_area_of_resources;
    uint32_t n = area[0] | (uint32_t)area[1] << 8 | (uint32_t)area[2] << 16 | (uint32_t)area[3] << 24;
    *size = 0;
    if (n > COLLET_RESOURCES_CAPACITY - 4) {
        return NULL;
    }
    *size = n;
    return area + 4;
}

#ifdef __cplusplus
}
#endif

#endif

/* areas.c: the areas of a module. */
#include "areas.h"

#include "../../abi/client_areas.h"

/* The areas are volatile: this copies their text. */
static void copy(char* to, const volatile unsigned char* from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        to[i] = (char)from[i];
    }
}

const char* areas_config(size_t* size) {
    static char text[COLLET_CONFIG_CAPACITY];
    const volatile unsigned char* area = collet_area_config(size);
    if (area == NULL) {
        return NULL;
    }
    copy(text, area, *size);
    return text;
}

const char* areas_name(void) {
    static char text[COLLET_NAME_CAPACITY];
    const volatile unsigned char* area = collet_area_name();
    if (area == NULL) {
        return NULL;
    }
    copy(text, area, sizeof text - 1);
    return text;
}

/* Says what its own areas hold, one line each, like the Go program beside it. As a module it exports them. */
#include "client_areas.h"

#ifdef PROGRAM
#include <stdio.h>
#endif

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C"
#endif
EXPORT int packaged_config_size(void);

int packaged_config_size(void) {
    size_t size;
    return collet_area_config(&size) == NULL ? -1 : (int)size;
}

#ifdef PROGRAM
static void show(const char* title, const volatile unsigned char* text, size_t size) {
    printf("%s \"", title);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            printf("\\n");
        } else if (text[i] == '"' || text[i] == '\\') {
            printf("\\%c", text[i]);
        } else {
            putchar(text[i]);
        }
    }
    printf("\"\n");
}

int main(void) {
    const volatile unsigned char* name = collet_area_name();
    const volatile unsigned char* text;
    size_t size;
    printf("packaged %s\nname ", name != NULL ? "true" : "false");
    for (; name != NULL && *name != 0; name++) {
        putchar(*name);
    }
    printf("\n");
    text = collet_area_config(&size);
    show("config", text, size);
    text = collet_area_resources(&size);
    show("resources", text, size);
    return 0;
}
#endif

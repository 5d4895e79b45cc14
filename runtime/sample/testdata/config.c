/*
 * config.c: looks for settings in every text on standard input, each with its size in two bytes before it, the low one first.
 * Built with a compiler's sanitizers, it ends with an error as soon as anything is read or written that is not there.
 */
#include "../game/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static const char* const names[] = {"Client.Title", "ForceOpenGL", "", "Release.Root"};
    unsigned char head[2];
    int texts = 0, found = 0;
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        size_t size = head[0] | (size_t)head[1] << 8;
        char* text = malloc(size); /* of its own size, so that one byte too many is seen */
        char* value = malloc(8);
        if ((text == NULL && size > 0) || value == NULL || fread(text, 1, size, stdin) != size) {
            abort();
        }
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            memset(value, 'x', 8);
            if (config_find(text, size, names[i], value, 8)) {
                found += memchr(value, 0, 8) != NULL;
            }
        }
        free(text);
        free(value);
        texts++;
    }
    printf("%d texts %d found\n", texts, found);
    return 0;
}

/* config.h: finds a setting in the text that packaging put into the program. */
#ifndef SAMPLE_CONFIG_H
#define SAMPLE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* Gives the value of a setting such as Client.Title, without its quotes, cut to what fits, in value (capacity bytes with the
 * zero at the end). False: it is not there. It reads what packaging writes: one "Name = value" a line, names written out,
 * texts between " or ', or three of them over several lines; of escapes \" and \\. */
bool config_find(const char* text, size_t size, const char* name, char* value, size_t capacity);

#endif

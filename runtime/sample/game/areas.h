/* areas.h: what packaging put into the program that the game is a part of: the module, or the host that it is linked
 * into. */
#ifndef SAMPLE_AREAS_H
#define SAMPLE_AREAS_H

#include <stddef.h>

/* The settings, *size bytes of TOML; NULL: the program was not packaged. It lives as long as the program. */
const char* areas_config(size_t* size);

/* What the package calls the program; NULL: the program was not packaged. It lives as long as the program. */
const char* areas_name(void);

#endif

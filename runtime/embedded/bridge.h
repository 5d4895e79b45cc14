/* bridge.h: what Go calls of the built-in client, and what the client calls of Go. Addresses travel as integers, because
 * a context is a number, which Go must not find where it expects a pointer. */
#ifndef COLLET_EMBEDDED_BRIDGE_H
#define COLLET_EMBEDDED_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Asks for the client's table. */
bool collet_embedded_query(uint32_t version, void* exports);

/* Asks for the client's components. */
bool collet_embedded_components(void* components);

/* Says what packaging put into the host: settings and name. They are kept. */
void collet_embedded_packaged(const char* text, size_t size, const char* called);

/* Offers the services of a run. */
void collet_embedded_offer(uintptr_t context);

/* Calls the client's main function. */
void collet_embedded_run(uintptr_t function, int32_t argc, void* argv, void* result);

#endif

/*
 * Whose callers are asked for (--stack), by function id. The tracer adds functions before they are
 * patched; the drainer, and who writes snapshots, ask.
 */
#ifndef SPOOR_SELECT_ASKED_H
#define SPOOR_SELECT_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asked;
struct asked *asked_new(void);
void asked_free(struct asked *a); /* may be NULL */
/* Of COUNT functions from id FIRST on those that are in BITMAP. */
void asked_add(struct asked *a, uint32_t first, const uint8_t *bitmap, size_t count);
bool asked_has(const struct asked *a, uint32_t id);

#endif

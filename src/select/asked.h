/*
 * The functions whose callers are recorded (--stack), by id. The tracer adds functions before they
 * are patched; the thread that drains rings and the one that writes snapshots read.
 */
#ifndef SPOOR_SELECT_ASKED_H
#define SPOOR_SELECT_ASKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct asked;
struct asked *asked_new(void);
void asked_free(struct asked *a); /* may be NULL */
/* Adds functions in BITMAP, whose bit 0 is id FIRST, of COUNT bits. */
void asked_add(struct asked *a, uint32_t first, const uint8_t *bitmap, size_t count);
bool asked_has(const struct asked *a, uint32_t id);

#endif

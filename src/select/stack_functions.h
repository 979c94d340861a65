/*
 * The functions whose callers are recorded (--stack), by id. The tracer adds functions before they
 * are patched; the thread that drains rings and the one that writes snapshots read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_functions;
struct stack_functions *stack_functions_new(void);
void stack_functions_free(struct stack_functions *a); /* may be NULL */
/* Adds functions in BITMAP, whose bit 0 is id FIRST, of COUNT bits. */
void stack_functions_add(struct stack_functions *a, uint32_t first, const uint8_t *bitmap,
                         size_t count);
bool stack_functions_has(const struct stack_functions *a, uint32_t id);

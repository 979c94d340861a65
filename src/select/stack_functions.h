/*
 * The set of functions whose callers are recorded (--stack), by id. The tracer's thread adds
 * functions before they are patched. The drainer and the flight recorder read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_functions;
struct stack_functions *stack_functions_new(void);
void stack_functions_free(struct stack_functions *set); /* may be NULL */
/* Adds the functions of BITMAP, which has COUNT bits. Its bit 0 stands for id FIRST. */
void stack_functions_add(struct stack_functions *set, uint32_t first, const uint8_t *bitmap,
                         size_t count);
bool stack_functions_has(const struct stack_functions *set, uint32_t id);

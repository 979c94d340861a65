/*
 * Runs a capture on registers and memory that somebody else reads: the tracer for a thread that
 * stands at a trap, a test for a dump. It records what a stub records.
 */
#pragma once

#include "values/capture.h"

struct capture_source {
    void *ctx;
    unsigned word;          /* bytes of a pointer: 4 or 8 */
    uint64_t stack_pointer; /* at the function's entry, as of FROM_STACK */
    /* Fill RET[size]. False: not readable. */
    bool (*read_register)(void *ctx, const struct capture_value *v, void *ret, size_t size);
    bool (*read_memory)(void *ctx, uint64_t address, void *ret, size_t size);
};

/* Fills RET[c->count]; its bytes are in the memory *STORE, to be freed after use. */
void capture_run(const struct capture *c, const struct capture_source *source, struct captured *ret,
                 uint8_t **store);

/*
 * Runs a capture on registers and memory that the caller reads. The tool does so for a thread that
 * skips a stub (patch/skipped_stub.h), a test for a dump. It records what a stub records.
 */
#pragma once

#include "values/slots.h"

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

/* A slot of a ring without its clock: the id of its control event, and its value of 48 bits, or a
 * whole word (wire/ring.h, CAPTURE_WHOLE). */
struct captured_slot {
    uint32_t id;
    uint64_t value;
};
/* Fills RET[capture_slots(c)] with the slots that stand in a ring before the event if CAPTURED was
 * captured of C, which has NUMBER. Returns how many slots these are. */
size_t captured_slots(const struct capture *c, uint32_t number, const struct captured *captured,
                      struct captured_slot *ret);

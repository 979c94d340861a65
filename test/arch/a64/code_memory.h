/* Memory at known addresses that holds code; shared by the programs of this folder. */
#pragma once

#include "state.h"

enum {
    GROUND = 0x4000000, /* within reach of `b` from the program; the program is in its reach */
    GROUND_BYTES = 0x3000000,
    GROUND_STACK = 0x4100000, /* the stack pointer of code under test; memory around it is free */
    GROUND_DATA = 0x4200000,
    GROUND_PART = 256, /* this many bytes around stack pointer and data are compared */
};

/* Maps this memory, and makes state_leave writable. */
void ground_open(void);
/* Writes WORD at AT, as code. */
void ground_write(uint64_t at, uint32_t word);
void ground_write_jump(uint64_t at, uint64_t to);
void ground_write_bytes(uint64_t at, const void *bytes, size_t size);
/* Fills a state, and memory around stack and data, from SEED. */
void ground_fill(struct state *state, uint64_t seed);
/* The next run begins at START. */
void ground_lead(uint64_t start);
void ground_run(const struct state *in, struct state *out);
/* Prints WHAT and counts it: the program's status is the number of failures. */
void ground_fail(const char *what, uint32_t word, const char *detail);
extern int ground_failures;
/* Fails unless both have the same registers, flags and place of arrival. */
void ground_compare(const char *what, uint32_t word, const struct state *expected,
                    const struct state *found);
uint64_t ground_arrival(unsigned number);

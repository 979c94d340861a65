/* Streams of events as programs make them, from a seed: input of tests, benchmark and fuzzer. */
#pragma once

#include "base/types.h"
#include "trace/format.h"

enum shape {
    SHAPE_FIB,        /* one function, recursive */
    SHAPE_TREE,       /* 500 functions, random calls, now and then a tail call or an exception */
    SHAPE_COROUTINES, /* ten stacks in turn */
    SHAPE_NOISE,      /* nonsense: any kind, function and stack pointer; clocks step back */
    SHAPE_COUNT
};

const char *shape_name(enum shape shape);

/* COUNT events, 20 to 200 ticks apart, with ids from FIRST_ID on; the caller frees them. */
struct trace_event *generate(enum shape shape, size_t count, uint64_t seed, uint32_t first_id);

/* A small random number generator (xorshift64*). */
uint64_t random_next(uint64_t *state);
/* A random number below LIMIT. */
uint32_t random_below(uint64_t *state, uint32_t limit);

/* Random calls of a thread, from a seed: with exceptions, jumps, missing exits, tail calls, and
 * what is asked for. */
#pragma once

#include "trace/writer.h"

#define RANDOM_STACK_HIGH ((uint64_t)0x7ffe00000000 + 0x100000)
#define RANDOM_STACK_LOW (RANDOM_STACK_HIGH - 0x800000)
enum { RANDOM_MOST_DEPTH = 200, RANDOM_FUNCTIONS = 600 };

struct random_calls {
    struct trace_writer *w;
    uint32_t stream;
    uint64_t random, ticks;
    /* Of 100 000 steps, ENTERS - depth * SHALLOW are entries. */
    unsigned enters, shallow;
    bool chains, pauses;
    bool frames;   /* records of frames */
    bool large;    /* some of its calls have large variables, and no call ends unseen */
    uint64_t gaps; /* from these ticks on, there are gaps; 0: none */
    unsigned depth;
    struct trace_frame stack[RANDOM_MOST_DEPTH]; /* the open calls */
};

/* Writes the next event, or a few. */
void random_calls_step(struct random_calls *t);

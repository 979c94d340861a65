/*
 * Ranges of stack addresses that tell threads with one thread pointer apart (wire/lane_lookup.h).
 * Each thread has ranges around the places where its stack pointer was seen, and gets another when
 * it is seen at a new place. Pure.
 *
 * Nobody knows where an unknown stack ends. So ranges begin small, grow by their own length, and
 * reach at most half-way to the next thread. No two threads have a range in common: if they run on
 * one stack, the events there belong to neither.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/lane_lookup.h"

struct stack_ranges {
    struct lane_stack_range at[LANE_STACK_RANGES_MOST];
    size_t count;
};

/* A stopped thread that shares its thread pointer. */
struct stopped_thread {
    uint64_t pointer, lane; /* each thread has its own lane, except the sink */
    uint64_t sp;
    uint64_t top; /* its stack pointer at birth, if known; else 0 */
};

/* THREADS: all COUNT threads with shared pointers. Afterwards each is in a range of its own, or in
 * one of SINK if that is not possible. False: there is no room. */
bool stack_ranges_claim(struct stack_ranges *s, const struct stopped_thread *threads, size_t count,
                        uint64_t sink);
/* Removes the ranges of POINTER. */
void stack_ranges_drop(struct stack_ranges *s, uint64_t pointer);

/*
 * How stubs find a thread's lane (wire/ring.h) on AArch64 and 32-bit Arm, where no register holds
 * it: by the thread pointer. Each trampoline area begins with a table of keys (a thread pointer and
 * its lane), then a table of stack ranges, then the agent's code.
 *
 * A stub looks at one key, which bits of the thread pointer choose. If that is another thread's,
 * the agent looks through the stack ranges, then through all keys. Threads that run at the same
 * time with one thread pointer have no key, but ranges of addresses where their stacks are.
 *
 * Only the tool writes the tables, and the agent's struct lane_asks, in the target's memory. Once
 * spoor is gone the agent looks through no table: threads that are born then come to it at each
 * event.
 *
 * An empty place, and the end of the stack ranges, hold a key that no thread has. Stubs of 32-bit
 * Arm compare the lower halves.
 *
 * Included by freestanding code, and by assembly.
 */
#pragma once

#define LANES_SHIFT 12
#define LANES_BITS 10
#define LANE_KEY_BYTES 16
#define LANE_KEYS_BYTES 16384
#define LANE_STACK_RANGE_BYTES 32
#define LANE_STACK_RANGES_BYTES 4096
#define LANES_BYTES (LANE_KEYS_BYTES + LANE_STACK_RANGES_BYTES) /* size of both tables */
#define LANE_STACK_RANGE_LOW 8
#define LANE_STACK_RANGE_HIGH 16

#ifndef __ASSEMBLER__
#include <stdint.h>

struct lane_key {
    uint64_t thread_pointer, lane; /* lane: its address in the target */
};
static const uint64_t NO_LANE_KEY = UINT64_MAX;
/* The thread pointer of a stack range that no thread uses any more. */
static const uint64_t DEAD_LANE_KEY = UINT64_MAX - 1;

/* A thread with that thread pointer whose stack pointer is at least low and below high. */
struct lane_stack_range {
    uint64_t thread_pointer, low, high, lane;
};
/* The last one always marks the end. */
enum { LANE_STACK_RANGES_MOST = LANE_STACK_RANGES_BYTES / LANE_STACK_RANGE_BYTES - 1 };

struct lane_asks {
    uint64_t control; /* address of the struct control that tells whether a tool answers */
    uint64_t lane;    /* address of the lane in which threads without one ask for one */
    uint64_t owner;   /* address of the struct control that tells whether a tool reads rings */
};

_Static_assert(sizeof(struct lane_key) == LANE_KEY_BYTES, "");
_Static_assert(LANE_KEY_BYTES << LANES_BITS == LANE_KEYS_BYTES, "");
_Static_assert(sizeof(struct lane_stack_range) == LANE_STACK_RANGE_BYTES, "");
_Static_assert(__builtin_offsetof(struct lane_stack_range, low) == LANE_STACK_RANGE_LOW, "");
_Static_assert(__builtin_offsetof(struct lane_stack_range, high) == LANE_STACK_RANGE_HIGH, "");
/* The lane stands last in both, which are read from behind. */
_Static_assert(LANE_KEY_BYTES - __builtin_offsetof(struct lane_key, lane) ==
                   LANE_STACK_RANGE_BYTES - __builtin_offsetof(struct lane_stack_range, lane),
               "");
#endif

/*
 * How stubs find a thread's lane (wire/ring.h) on AArch64 and 32-bit Arm, where no register holds
 * it: by the thread pointer. Each trampoline area begins with a table of keys (a thread pointer and
 * its lane), then a table of stack ranges, then the agent's code.
 *
 * A stub reads one key, chosen by bits of the thread pointer. If the key belongs to another thread,
 * the agent searches the stack ranges, then all keys. Threads that share a thread pointer while
 * they run have no key, but ranges of addresses where their stacks are.
 *
 * Only the tool writes the tables, and the agent's struct lane_asks, in the target's memory. When
 * spoor is gone, the agent searches no table: threads born after that reach the agent at each
 * event.
 *
 * An empty entry, and the end of the stack ranges, hold a key that no thread has. Stubs of 32-bit
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
/* The thread pointer of a stack range that is not in use any more. */
static const uint64_t DEAD_LANE_KEY = UINT64_MAX - 1;

/* Belongs to the thread with this thread pointer whose stack pointer is in [low, high). */
struct lane_stack_range {
    uint64_t thread_pointer, low, high, lane;
};
/* The last one always marks the end. */
enum { LANE_STACK_RANGES_MOST = LANE_STACK_RANGES_BYTES / LANE_STACK_RANGE_BYTES - 1 };

struct lane_asks {
    uint64_t control; /* address of the struct control that says whether a tool answers */
    uint64_t lane;    /* address of the lane through which threads without a lane ask for one */
    uint64_t owner;   /* address of the struct control that says whether a tool reads rings */
};

_Static_assert(sizeof(struct lane_key) == LANE_KEY_BYTES, "");
_Static_assert(LANE_KEY_BYTES << LANES_BITS == LANE_KEYS_BYTES, "");
_Static_assert(sizeof(struct lane_stack_range) == LANE_STACK_RANGE_BYTES, "");
_Static_assert(__builtin_offsetof(struct lane_stack_range, low) == LANE_STACK_RANGE_LOW, "");
_Static_assert(__builtin_offsetof(struct lane_stack_range, high) == LANE_STACK_RANGE_HIGH, "");
/* The lane is the last member of both: the agent reads it relative to the end. */
_Static_assert(LANE_KEY_BYTES - __builtin_offsetof(struct lane_key, lane) ==
                   LANE_STACK_RANGE_BYTES - __builtin_offsetof(struct lane_stack_range, lane),
               "");
#endif

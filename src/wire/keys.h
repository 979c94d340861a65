/*
 * How stubs find the lanes of threads (wire/ring.h) where no register holds them, on AArch64 and
 * 32-bit Arm: by their thread pointers. Each trampoline area begins with a table of pairs, then one
 * of stack ranges, then the agent's code. A stub looks at one pair, which bits of the thread
 * pointer tell, and the agent through all the others. Threads with one thread pointer that run at
 * the same time have no pair, but stack ranges of addresses where their stacks are; these the agent
 * looks through first. Only the tool writes the tables, and what the agent has at its `asks`, where
 * it stands in the target. Once nobody reads any more the agent looks through none: threads that
 * are born then come to it at each event.
 *
 * A key that no thread has stands where there is none, and behind the last stretch. Stubs of 32-bit
 * Arm compare the lower halves.
 *
 * Included by freestanding code, and by assembly.
 */
#ifndef SPOOR_WIRE_KEYS_H
#define SPOOR_WIRE_KEYS_H

#define LANES_SHIFT 12
#define LANES_BITS 10
#define LANE_KEY_BYTES 16
#define LANE_KEYS_BYTES 16384
#define LANE_STACK_RANGE_BYTES 32
#define LANE_STACK_RANGES_BYTES 4096
#define LANES_BYTES (LANE_KEYS_BYTES + LANE_STACK_RANGES_BYTES) /* what stands before the code */
#define LANE_STACK_RANGE_LOW 8
#define LANE_STACK_RANGE_HIGH 16

#ifndef __ASSEMBLER__
#include <stdint.h>

struct lane_key {
    uint64_t thread_pointer, lane; /* lane: its address in the target */
};
static const uint64_t NO_LANE_KEY = UINT64_MAX;
/* In place of the thread pointer of a stretch that is nobody's any more. */
static const uint64_t DEAD_LANE_KEY = UINT64_MAX - 1;

/* A thread with that pointer whose stack pointer is from low up to high. */
struct lane_stack_range {
    uint64_t thread_pointer, low, high, lane;
};
/* The last one stays an end. */
enum { LANE_STACK_RANGES_MOST = LANE_STACK_RANGES_BYTES / LANE_STACK_RANGE_BYTES - 1 };

struct lane_asks {
    uint64_t control; /* address of the struct control that tells whether anybody answers */
    uint64_t lane;    /* of those that have none, where they ask */
    uint64_t owner;   /* address of the one that tells whether anybody reads; else none is sought */
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

#endif

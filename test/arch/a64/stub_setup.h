/* Where stubs of A64, the agent and a thread's lane are: for stubs.c, captures.c and judges.c.
 * These define RING, a ring's size, before. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/aarch64/stub.h"
#include "arch/arm_agent.h"
#include "code_memory.h"

enum { LANES = GROUND + 0x20000, AGENT = LANES + LANES_BYTES, STUB = AGENT + 0x12340 };
enum { LANE = GROUND + 0x300000, PAGE = 0x1000, HOLE = GROUND_DATA + PAGE };

static struct control control;

static void *pointer(uint64_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */
static struct lane *lane(void) { return pointer(LANE); }

static uint64_t thread_pointer(void) {
    uint64_t value;
    __asm__("mrs %0, tpidr_el0" : "=r"(value));
    return value;
}

/* HEAD bytes of the ring are reserved, and LIMIT may be. KNOWN: the thread is in the table. */
static void write_lane(uint64_t head, uint64_t limit, bool known) {
    const uint64_t self = thread_pointer();
    struct lane_key *keys = pointer(LANES);
    memset(keys, 0, LANE_KEYS_BYTES);
    keys[self >> LANES_SHIFT & ((1U << LANES_BITS) - 1)] =
        (struct lane_key){known ? self : self + 1, LANE};
    memset(lane(), 0, LANE_RING + RING);
    lane()->control = (uint64_t)(uintptr_t)&control;
    lane()->head = head;
    lane()->limit = limit;
    lane()->ring_mask = RING - 1;
}

/* HANDLER runs on a stack of its own. */
static void catch (int signal, void (*handler)(int, siginfo_t *, void *)) {
    const struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    const stack_t stack = {.ss_sp = pointer(GROUND), .ss_size = 0x10000};
    sigaltstack(&stack, NULL);
    sigaction(signal, &action, NULL);
}

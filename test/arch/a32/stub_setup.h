/*
 * Puts A32 and T32 stubs and the agent that they share into executable memory: for stubs.c,
 * slices.c and captures.c.
 *
 * An emulator may not let programs read the counter. A SIGILL handler then reads it for them.
 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "arch/arm/arm.h"
#include "arch/arm/stub.h"
#include "arch/arm_agent.h"
#include "code_memory.h"

enum { LANES = GROUND + 0x20000, AGENT = LANES + LANES_BYTES, STUB = AGENT + 0x12340 };
enum { LANE = GROUND + 0x300000, SINK = LANE + 0x10000, RING = 4096, SITE = 0x12345674 };
enum { SEEDS = 16, CALLER = 0x55667000, CALLER_BYTES = 0x1000 };
enum { DONE, SEEK, WAIT, DROP, HOOK }; /* ways out: arrive_*() */

static bool t32;                       /* which stubs */
static struct control control, reader; /* the process that answers, and the one that reads */

static void *pointer(uint32_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */
static struct lane *lane(void) { return pointer(LANE); }

static uint32_t thread_pointer(void) {
    uint32_t value;
    __asm__("mrc p15, 0, %0, c13, c0, 3" : "=r"(value));
    return value;
}

/* ---- the counter ---- */

/* Each step changes more than one word. */
static uint64_t emulated_ticks = 0xfffffffedcba9876;

static void read_for(int sig, siginfo_t *info, void *frame) {
    mcontext_t *m = &((ucontext_t *)frame)->uc_mcontext;
    uint32_t word;
    (void)info;
    memcpy(&word, pointer((uint32_t)m->arm_pc), sizeof word);
    bool thumb = m->arm_cpsr & 0x20;
    if ((thumb ? word << 16 | word >> 16 : word) != 0xec532f1e) { /* mrrc p15, 1, r2, r3, c14 */
        signal(sig, SIG_DFL);
        return;
    }
    emulated_ticks += 0x100010001;
    m->arm_r2 = (uint32_t)emulated_ticks;
    m->arm_r3 = (uint32_t)(emulated_ticks >> 32);
    m->arm_pc += 4;
}

static uint64_t ticks(void) {
    register uint32_t low __asm__("r2"), high __asm__("r3");
    __asm__ volatile("isb; mrrc p15, 1, r2, r3, c14" : "=r"(low), "=r"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* ---- code under test ---- */

static void write_ways(void) {
    static const unsigned entries[] = {AGENT_ENTRY_SEEK, AGENT_ENTRY_WAIT, AGENT_ENTRY_DROP,
                                       AGENT_ENTRY_HOOK};
    for (unsigned i = 0; i < sizeof entries / sizeof *entries; i++)
        ground_write_jump(AGENT + entries[i], ground_arrival(SEEK + i));
}

static void write_agent(uint32_t owner) {
    const struct lane_asks asks = {(uintptr_t)&control, SINK, (uintptr_t)&reader};
    control.owner = owner;
    reader.owner = 0;
    ground_write_bytes(LANES, arm_agent_bytes, arm_agent_size);
    memcpy(pointer(LANES + arm_agent_labels().asks), &asks, sizeof asks);
}

/* HEAD bytes of the ring are reserved. The thread's key is OFF places from where stubs look first.
 */
static void write_lane(uint64_t head, uint64_t limit, unsigned off) {
    struct lane_key *keys = pointer(LANES);
    uint32_t self = thread_pointer();
    unsigned places = 1 << LANES_BITS, i = (self >> LANES_SHIFT) + off;
    memset(keys, 0xff, LANES_BYTES);
    keys[i % places] = (struct lane_key){self, LANE};
    memset(lane(), 0, LANE_RING + RING);
    memset(pointer(SINK), 0, LANE_RING + RING);
    *lane() = (struct lane){
        .head = head, .limit = limit, .control = (uintptr_t)&control, .ring_mask = RING - 1};
    *(struct lane *)pointer(SINK) = (struct lane){.limit = INT64_MAX};
}

/* The event of a wait for room at position HEAD, and no wait. */
static void expect_wait(uint64_t head, uint64_t begin) {
    const struct event *e = pointer(LANE + LANE_RING + head % RING);
    uint64_t since = event_ticks(e, ticks());
    if (e->site != ((uint32_t)WAIT_EVENT << 2 | EVENT_CONTROL) || since <= begin)
        ground_fail("a wait for room", (uint32_t)head, "is not recorded");
    if (lane()->wait_since)
        ground_fail("a wait for room", (uint32_t)head, "does not end");
}

/* The stub under test, and the code behind it. */
static uint32_t stub_at = STUB;

static void write_end(uint32_t at) {
    static const uint16_t nop = 0xbf00, load[2] = {0xf8df, 0xf000}; /* ldr pc, [pc] */
    const uint32_t to = ground_arrival(DONE);
    if (!t32) {
        ground_write_jump(at, to);
        return;
    }
    if (at % 4) {
        ground_write_bytes(at, &nop, sizeof nop);
        at += sizeof nop;
    }
    ground_write_bytes(at, load, sizeof load);
    ground_write_bytes(at + sizeof load, &to, sizeof to);
}

static size_t write_stub(struct stub_spec spec) {
    uint8_t code[STUB_MAX_BYTES + STUB_CAPTURE_BYTES];
    spec.ring_bytes = RING;
    spec.agent = (int64_t)AGENT - stub_at;
    spec.caller = (struct span){CALLER, CALLER + CALLER_BYTES};
    size_t size = t32 ? t32_stub_emit(code, &spec) : a32_stub_emit(code, &spec);
    if (size > sizeof code)
        abort();
    ground_write_bytes(stub_at, code, size);
    write_end(stub_at + (uint32_t)size);
    return size;
}

static struct state run(uint64_t seed, uint32_t return_address, struct state *in) {
    struct state out;
    ground_fill(in, seed);
    in->r[ARM_LR] = return_address;
    ground_run(stub_at | t32, in, &out);
    return out;
}

/* Fails unless memory above the stack pointer is unchanged. */
static void check_unchanged(uint64_t seed, const char *what) {
    uint8_t now[GROUND_PART];
    struct state again;
    memcpy(now, pointer(GROUND_STACK), sizeof now);
    ground_fill(&again, seed);
    if (memcmp(now, pointer(GROUND_STACK), sizeof now) != 0)
        ground_fail(what, stub_at, "writes above the stack pointer");
}

/* Fails unless the stub has reached its end, with registers, flags and memory unchanged. */
static void expect_done(const char *what, uint64_t seed, struct state *in,
                        const struct state *out) {
    in->arrived = DONE;
    ground_compare(what, stub_at, in, out);
    check_unchanged(seed, what);
}

static const struct event *slot(uint64_t head) {
    return pointer(LANE + LANE_RING + (uint32_t)head % RING);
}

static void expect_head(const char *what, uint64_t head) {
    if (lane()->head != head)
        ground_fail(what, stub_at, "reserves another slot, or none");
}

static void catch (int sig, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(sig, &action, NULL);
}

/*
 * Event stubs, run in many states: they write one event, change no register, no flag and no memory
 * but what lies below the stack pointer, and leave for the agent where they should.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "arch/aarch64/stub.h"
#include "ground.h"

enum { LANES = GROUND + 0x20000, AGENT = LANES + A64_LANES_BYTES, STUB = AGENT + 0x12340 };
enum { LANE = GROUND + 0x300000, RING = 4096, SITE = 0x12345675, SEEDS = 16, CALLER = 0x55667000 };
enum { DONE, SEEK, WAIT, DROP, HOOK }; /* ways out: arrive_*() */

static void *pointer(uint64_t at) { return (void *)(uintptr_t)at; } /* NOLINT: a number given */
static struct lane *lane(void) { return pointer(LANE); }

static uint64_t thread_pointer(void) {
    uint64_t value;
    __asm__("mrs %0, tpidr_el0" : "=r"(value));
    return value;
}

static uint64_t ticks(void) {
    uint64_t value;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value) : : "memory");
    return value;
}

/* The agent is four ways out. */
static void write_agent(void) {
    static const unsigned ways[] = {SEEK, WAIT, DROP, HOOK};
    for (unsigned i = 0; i < 4; i++)
        ground_write_jump(AGENT + 4 * i, ground_arrival(ways[i]));
}

/* HEAD bytes of the ring are reserved; known: the thread is in the table. */
static void write_lane(uint64_t head, uint64_t limit, bool known) {
    struct a64_lane_key *keys = pointer(LANES);
    uint64_t self = thread_pointer();
    size_t i = self >> A64_LANES_SHIFT & ((1U << A64_LANES_BITS) - 1);
    memset(keys, 0, A64_LANES_BYTES);
    keys[i] = (struct a64_lane_key){known ? self : self + 1, LANE};
    memset(lane(), 0, LANE_RING + RING);
    lane()->head = head;
    lane()->limit = limit;
}

static size_t write_stub(uint8_t variant, enum overflow overflow) {
    uint8_t code[STUB_MAX_BYTES];
    const struct stub_spec spec = {.variant = variant,
                                   .site = SITE,
                                   .ring_bytes = RING,
                                   .overflow = overflow,
                                   .agent = (int64_t)AGENT - STUB,
                                   .caller = {CALLER, CALLER + 0x1000}};
    size_t size = a64_stub_emit(code, &spec);
    if (size > sizeof code)
        ground_fail("a stub", variant, "is too long");
    ground_write_bytes(STUB, code, size);
    ground_write_jump(STUB + size, ground_arrival(DONE));
    ground_lead(STUB);
    return size;
}

static struct state run(uint64_t seed, uint64_t return_address, struct state *in) {
    struct state out;
    ground_fill(in, seed);
    in->x[30] = return_address;
    ground_run(in, &out);
    return out;
}

/* Above the stack pointer nothing is written: memory is as filled. */
static void check_unchanged(uint64_t seed, uint32_t variant) {
    uint8_t now[GROUND_PART];
    struct state again;
    memcpy(now, pointer(GROUND_STACK), sizeof now);
    ground_fill(&again, seed);
    if (memcmp(now, pointer(GROUND_STACK), sizeof now) != 0)
        ground_fail("a stub", variant, "writes above the stack pointer");
}

static void check_event(uint32_t variant, uint64_t head, uint64_t value,
                        const uint64_t between[2]) {
    const struct event *e = pointer(LANE + LANE_RING + head % RING);
    static const struct event none = {0, 0, 0};
    const struct event *next = pointer(LANE + LANE_RING + (head + EVENT_BYTES) % RING);
    uint64_t clock = e->clock_sp >> 16;
    if (lane()->head != head + EVENT_BYTES)
        ground_fail("a stub", variant, "reserves no slot");
    if (e->site != SITE || event_sp(e) != (value & 0xffffffffffff))
        ground_fail("a stub", variant, "writes another site or stack pointer");
    if (clock < (between[0] & EVENT_CLOCK_MASK) || clock > (between[1] & EVENT_CLOCK_MASK))
        ground_fail("a stub", variant, "writes another time");
    if (memcmp(next, &none, sizeof none) != 0)
        ground_fail("a stub", variant, "writes beyond its slot");
}

static void check_recorded(uint8_t variant, uint64_t head) {
    write_stub(variant, OVERFLOW_WAIT);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct state in;
        uint64_t between[2];
        write_lane(head, head + RING, true);
        between[0] = ticks();
        struct state out = run(seed, CALLER + 0x10 + seed, &in);
        between[1] = ticks();
        in.arrived = DONE;
        ground_compare("a stub", variant, &in, &out);
        uint64_t value = variant & STUB_GO_FIRST    ? in.x[0]
                         : variant & STUB_GO_SECOND ? in.x[1]
                                                    : in.sp;
        check_event(variant, head, value, between);
        check_unchanged(seed, variant);
    }
}

/* A call from elsewhere is no event; a signed return address is that which was signed. */
static void check_callers(void) {
    static const struct {
        uint64_t address;
        bool counts;
    } callers[] = {{CALLER, true},
                   {CALLER + 0xfff, true},
                   {CALLER - 1, false},
                   {CALLER + 0x1000, false},
                   {0, false},
                   {0x7fffffffffff, false},
                   {0x002a000000000000 | CALLER, true}};
    write_stub(STUB_CALLER, OVERFLOW_WAIT);
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        struct state in;
        write_lane(0, RING, true);
        struct state out = run(i, callers[i].address, &in);
        in.arrived = DONE;
        ground_compare("a caller", (uint32_t)i, &in, &out);
        if (lane()->head != (callers[i].counts ? EVENT_BYTES : 0))
            ground_fail("a caller", (uint32_t)i, "counts, or not");
    }
}

struct way {
    uint8_t variant;
    enum overflow overflow;
    bool known, full;
    unsigned arrives;
    bool again; /* comes back to where the lane is looked for; else to where the registers return */
};

/* At the agent's entry: where to come back to, the lane, and the head before. */
static void check_way(const struct way *w) {
    enum { FRAME = 32, PUSHES = 8, POPS = 8 };
    struct state in;
    size_t size = write_stub(w->variant, w->overflow);
    write_lane(64, w->full ? 64 : RING, w->known);
    struct state out = run(w->arrives, CALLER, &in);
    uint64_t back = w->again ? STUB + PUSHES : STUB + size - POPS;
    if (out.arrived != w->arrives || out.x[0] != back || out.sp != in.sp - FRAME ||
        out.nzcv != in.nzcv || out.x[30] != in.x[30])
        ground_fail("a way to the agent", w->arrives, "another state");
    if (w->full && (out.x[3] != LANE || out.x[1] != 64 || lane()->head != 64 + EVENT_BYTES))
        ground_fail("a way to the agent", w->arrives, "another lane or head");
    if (!w->full && lane()->head != 64)
        ground_fail("a way to the agent", w->arrives, "has reserved a slot");
}

int main(void) {
    static const uint8_t variants[] = {0,
                                       STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE,
                                       STUB_CALLER,
                                       STUB_GO_FIRST,
                                       STUB_GO_SECOND,
                                       STUB_CALLER | STUB_GO_FIRST};
    static const uint64_t heads[] = {0, RING - EVENT_BYTES, 0x123450};
    static const struct way ways[] = {
        {0, OVERFLOW_WAIT, true, true, WAIT, true},
        {0, OVERFLOW_OVERWRITE, true, true, WAIT, true},
        {0, OVERFLOW_DROP, true, true, DROP, false},
        {0, OVERFLOW_WAIT, false, false, SEEK, true},
        {0, OVERFLOW_DROP, false, false, SEEK, true},
        {STUB_HOOK, OVERFLOW_WAIT, true, false, HOOK, false},
    };
    ground_open();
    write_agent();
    for (size_t i = 0; i < sizeof variants; i++)
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
            check_recorded(variants[i], heads[k]);
    check_callers();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check_way(&ways[i]);
    printf("%d failures of stubs\n", ground_failures);
    return ground_failures != 0;
}

/*
 * Event stubs of A32 and T32 and the agent that they share, run from many register states. They
 * write one event. They change no register, no flag, and no memory except below the stack pointer.
 * They branch to the agent exactly where they should.
 */
#include <pthread.h>

#include "../guard_cases.h"
#include "stub_setup.h"

/* ---- events ---- */

static void check_event(const struct stub_spec *s, uint64_t head, const uint64_t between[2]) {
    const struct event *e = slot(head), none = {0};
    const uint32_t sp = GROUND_STACK + s->pops + ((s->site & 3) == EVENT_CONTROL);
    uint64_t since = ((e->clock_sp >> 16) - between[0]) & EVENT_CLOCK_MASK;
    expect_head("an event", head + EVENT_BYTES);
    if (e->site != s->site || event_sp(e) != sp)
        ground_fail("an event", stub_at, "has another site or stack pointer");
    if (since > between[1] - between[0])
        ground_fail("an event", stub_at, "has another time");
    if (memcmp(slot(head + EVENT_BYTES), &none, sizeof none) != 0 ||
        memcmp(slot(head - EVENT_BYTES), &none, sizeof none) != 0)
        ground_fail("an event", stub_at, "writes beyond its slot");
}

static void check_recorded(struct stub_spec s, uint64_t head) {
    write_stub(s);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct state in;
        uint64_t between[2];
        write_lane(head, head + EVENT_BYTES, 0);
        between[0] = ticks();
        struct state out = run(seed, CALLER + 0x10 + (uint32_t)seed, &in);
        between[1] = ticks();
        expect_done("a stub", seed, &in, &out);
        check_event(&s, head, between);
    }
}

static void check_events(void) {
    static const uint64_t heads[] = {0, RING - EVENT_BYTES, 0xfffffff0, 0x7123456780};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (int o = 0; o <= OVERFLOW_OVERWRITE; o++)
            check_recorded((struct stub_spec){.site = SITE, .overflow = (enum overflow)o},
                           heads[i]);
    check_recorded((struct stub_spec){.variant = STUB_SAVE_FLAGS | STUB_SKIP_RED_ZONE,
                                      .site = SITE | EVENT_CONTROL},
                   0);
    check_recorded((struct stub_spec){.site = SITE | EVENT_RETURN, .pops = 64}, 0);
    check_recorded((struct stub_spec){.site = SITE | EVENT_RETURN, .pops = 1020, .behind = 254}, 0);
}

/* The caller is in lr, or in the word of the stack that a return takes. */
static void check_callers(void) {
    static const struct {
        uint32_t address;
        bool counts;
    } callers[] = {{CALLER, true},      {CALLER + CALLER_BYTES - 1, true},
                   {CALLER - 1, false}, {CALLER + CALLER_BYTES, false},
                   {0, false},          {0xffffffff, false}};
    static const struct stub_spec kinds[] = {{.pops = 0},
                                             {.pops = 12},
                                             {.pops = 8, .behind = 1},
                                             {.pops = 44, .behind = 5},
                                             {.pops = 1020, .behind = 254}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    for (size_t n = 0; n < KINDS * sizeof callers / sizeof *callers; n++) {
        struct stub_spec s = kinds[n % KINDS];
        struct state in, out;
        s.variant = STUB_CALLER;
        s.site = SITE;
        write_stub(s);
        write_lane(0, RING, 0);
        ground_fill(&in, n);
        const uint32_t address = callers[n / KINDS].address;
        in.r[ARM_LR] = s.pops ? ~address : address;
        if (s.pops)
            *(uint32_t *)pointer(GROUND_STACK + s.pops - 4U * (s.behind + 1U)) = address;
        ground_run(stub_at | t32, &in, &out);
        in.arrived = DONE;
        ground_compare("a caller", (uint32_t)n, &in, &out);
        expect_head("a caller", callers[n / KINDS].counts ? EVENT_BYTES : 0);
    }
}

/* ---- ways to the agent ---- */

struct way {
    uint8_t variant;
    enum overflow overflow;
    unsigned arrives;
    bool known, again; /* again: returns to the lane lookup */
    uint64_t head, limit;
};

static const struct way ways[] = {
    {0, OVERFLOW_WAIT, WAIT, true, true, 64, 64},
    {0, OVERFLOW_OVERWRITE, WAIT, true, true, 0x100000040, 0xfffffff0},
    {0, OVERFLOW_DROP, DROP, true, false, 0x100000040, 0x100000040},
    {STUB_CALLER, OVERFLOW_DROP, DROP, true, false, 0x200000000, 0x100000040},
    {0, OVERFLOW_WAIT, SEEK, false, true, 0, RING},
    {STUB_CALLER, OVERFLOW_DROP, SEEK, false, true, 0, RING},
    {STUB_HOOK, OVERFLOW_WAIT, HOOK, true, false, 0, RING},
};

/* The agent finds the address to return to, the table and the lane; nothing is reserved. */
static void check_way(const struct way *w) {
    struct state in;
    const struct stub_spec s = {.variant = w->variant, .site = SITE, .overflow = w->overflow};
    uint32_t size = (uint32_t)write_stub(s), retry, done = size - 8;
    retry = t32 ? t32_stub_retry(w->variant) : a32_stub_retry(w->variant);
    write_lane(w->head, w->limit, w->known ? 0 : 3);
    struct state out = run(w->arrives, CALLER, &in);
    uint32_t back = w->arrives == SEEK ? out.r[0] : (stub_at + (w->again ? retry : done)) | t32;
    if (out.arrived != w->arrives || out.r[0] != back || out.r[5] != LANES ||
        out.r[ARM_SP] != in.r[ARM_SP] - ARM_STUB_FRAME || (out.r[7] ^ in.apsr) & STATE_APSR_BITS ||
        memcmp(&out.r[8], &in.r[8], 5 * sizeof *in.r) != 0 || out.r[ARM_LR] != in.r[ARM_LR])
        ground_fail("a way to the agent", w->arrives, "another state");
    if ((w->arrives == WAIT || w->arrives == DROP) && out.r[6] != LANE)
        ground_fail("a way to the agent", w->arrives, "another lane");
    if (memcmp(pointer(out.r[ARM_SP]), in.r, ARM_STUB_FRAME) != 0)
        ground_fail("a way to the agent", w->arrives, "has not kept the registers");
    expect_head("a way to the agent", w->head);
}

/* ---- with the agent itself ---- */

static void expect_run(const char *what, uint64_t head) {
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct state in, out;
        uint64_t before = lane()->head;
        out = run(seed, CALLER, &in);
        expect_done(what, seed, &in, &out);
        expect_head(what, before + head);
    }
}

static void check_lane_lookup(void) {
    static const unsigned off[] = {1, (1U << LANES_BITS) - 1, 7};
    write_agent(0);
    write_stub((struct stub_spec){.site = SITE});
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        write_lane(0, RING, off[i]);
        expect_run("a lane that is found", EVENT_BYTES);
    }
    write_agent(CONTROL_OWNER_DIED); /* without a tool threads without a lane get the sink */
    write_lane(0, RING, 0);
    memset(pointer(LANES), 0xff, LANES_BYTES);
    expect_run("a thread without a lane", 0);
    if (((struct lane *)pointer(SINK))->head != 2 * EVENT_BYTES)
        ground_fail("a thread without a lane", stub_at, "does not write to the sink");
}

/* After the tool's death no lane is looked up: each event would search in vain. */
static void check_no_lane_lookup_for_a_dead_tool(void) {
    write_agent(CONTROL_OWNER_DIED);
    reader.owner = CONTROL_OWNER_DIED;
    write_stub((struct stub_spec){.site = SITE});
    write_lane(0, RING, 5);
    expect_run("a lookup for a dead tool", 0);
    if (((struct lane *)pointer(SINK))->head != 2 * EVENT_BYTES)
        ground_fail("a lookup for a dead tool", stub_at, "is made");
}

/* Threads that share one thread pointer differ by their stack ranges: the stub's stack begins at
 * SP. */
static void check_stack_ranges(void) {
    const uint32_t self = thread_pointer(), sp = GROUND_STACK - ARM_STUB_FRAME;
    const struct lane_stack_range ranges[] = {
        {DEAD_LANE_KEY, 0, UINT32_MAX, SINK},
        {self - 4, 0, UINT32_MAX, SINK},
        {self, sp + 1, UINT32_MAX, SINK},
        {self, 0, sp, SINK},
        {self, sp, sp + 1, LANE},
        {self, sp - 32, sp + 32, SINK},
    };
    struct lane_stack_range *at = pointer(LANES + LANE_KEYS_BYTES);
    const struct lane *sink = pointer(SINK);
    write_agent(CONTROL_OWNER_DIED);
    write_stub((struct stub_spec){.site = SITE});
    write_lane(0, RING, 0);
    memset(pointer(LANES), 0xff, LANE_KEYS_BYTES);
    memcpy(at, ranges, sizeof ranges);
    expect_run("a stack range", EVENT_BYTES);
    if (sink->head)
        ground_fail("a stack range", stub_at, "gives the lane of another thread");
    memset(&at[4].thread_pointer, 0xff, sizeof at[4].thread_pointer); /* ends the ranges */
    expect_run("no stack range", 0);
    if (sink->head != 2 * EVENT_BYTES)
        ground_fail("no stack range", stub_at, "does not write to the sink");
}

static void check_dropping(void) {
    write_agent(0);
    write_stub((struct stub_spec){.site = SITE, .overflow = OVERFLOW_DROP});
    write_lane(0x500000000, 0x500000000, 0);
    lane()->lost = 0xffffffff;
    expect_run("a lost event", 0);
    if (lane()->lost != 0x100000001)
        ground_fail("a lost event", stub_at, "is not counted");
}

/* Another thread makes room, or clears the hook, when it sees a waiting thread. */
static void *help(void *unused) {
    for (int i = 0; i < 2; i++) {
        while (!__atomic_load_n(&lane()->hook, __ATOMIC_ACQUIRE) &&
               __atomic_load_n(&lane()->waits, __ATOMIC_ACQUIRE) != (uint64_t)i + 1)
            ;
        __atomic_store_n(&lane()->limit, lane()->limit + 2 * EVENT_BYTES, __ATOMIC_RELEASE);
        __atomic_store_n(&lane()->hook, 0, __ATOMIC_RELEASE);
    }
    return unused;
}

static void check_waiting(uint8_t variant) {
    pthread_t helper;
    write_agent(0);
    write_stub((struct stub_spec){.variant = variant, .site = SITE});
    write_lane(0xfffffff0, 0xfffffff0, variant ? 5 : 0);
    if (pthread_create(&helper, NULL, help, NULL))
        abort();
    uint64_t begin = ticks();
    expect_run("a wait for room", variant ? 0 : 2 * EVENT_BYTES);
    pthread_join(helper, NULL);
    if (lane()->limit != 0x100000030)
        ground_fail("a wait for room", stub_at, "does not wait");
    if (variant && (event_ticks(&(struct event){.clock_sp = lane()->wait_since}, ticks()) <= begin))
        ground_fail("a wait in the hook", stub_at, "does not tell when it began");
    if (variant)
        return;
    expect_wait(0xfffffff0, begin);
    expect_wait(0x100000010, begin);
}

static void *release(void *unused) {
    while (!__atomic_load_n(&lane()->hook, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane()->hook, 0, __ATOMIC_RELEASE);
    return unused;
}

/* A guard that waits without need never returns here; one that does not wait leaves the helper
 * waiting. */
static void check_guard(void) {
    write_agent(0);
    write_stub((struct stub_spec){.variant = STUB_HOOK | STUB_GUARD});
    memcpy(pointer(LANES + arm_agent_labels().guarded), &guarded_ranges, sizeof guarded_ranges);
    for (int i = 0; i < GUARD_CASES; i++) {
        struct state in, out;
        pthread_t helper;
        write_lane(0, RING, 5);
        ground_fill(&in, 1);
        in.r[0] = guard_cases[i].address;
        in.r[1] = guard_cases[i].size;
        if (guard_cases[i].waits && pthread_create(&helper, NULL, release, NULL))
            abort();
        ground_run(stub_at | t32, &in, &out);
        if (guard_cases[i].waits)
            pthread_join(helper, NULL);
        expect_done("a guard", 1, &in, &out);
        expect_head("a guard", 0);
    }
}

static void check_no_wait_for_a_dead_tool(void) {
    write_agent(CONTROL_OWNER_DIED);
    write_stub((struct stub_spec){.site = SITE});
    write_lane(32, 32, 0);
    expect_run("a wait for a dead tool", EVENT_BYTES);
    if (lane()->limit != INT64_MAX || lane()->waits != 1)
        ground_fail("a wait for a dead tool", stub_at, "is repeated");
    write_stub((struct stub_spec){.variant = STUB_HOOK});
    write_lane(0, RING, 0);
    expect_run("a hook", 0);
    if (lane()->hook)
        ground_fail("a hook", stub_at, "asks a dead tool");
}

/* ---- a signal between the two exclusive accesses ---- */

static unsigned interruptions;

/* A handler whose functions have stubs, too. */
static void interrupt(int sig, siginfo_t *info, void *frame) {
    if ((uintptr_t)info->si_addr - LANE >= LANE_RING || interruptions++ > 2)
        signal(sig, SIG_DFL);
    (void)frame;
    mprotect(pointer(LANE), LANE_RING, PROT_READ | PROT_WRITE);
    lane()->head += EVENT_BYTES;
}

static void check_interrupted(void) {
    struct state in;
    write_stub((struct stub_spec){.site = SITE});
    write_lane(0, RING, 0);
    interruptions = 0;
    mprotect(pointer(LANE), LANE_RING, PROT_READ);
    struct state out = run(1, CALLER, &in);
    expect_done("a stub that is interrupted", 1, &in, &out);
    expect_head("a stub that is interrupted", 2 * EVENT_BYTES);
    if (interruptions != 1)
        ground_fail("a stub that is interrupted", stub_at, "is not");
}

static void check_all(void) {
    write_ways();
    check_events();
    check_callers();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check_way(&ways[i]);
    check_lane_lookup();
    check_stack_ranges();
    check_dropping();
    check_waiting(0);
    check_waiting(STUB_HOOK);
    check_guard();
    check_no_wait_for_a_dead_tool();
    check_no_lane_lookup_for_a_dead_tool();
    check_interrupted();
}

int main(void) {
    catch (SIGILL, read_for);
    catch (SIGSEGV, interrupt);
    ground_open();
    check_all();
    t32 = true;
    check_all();
    stub_at += 2;
    check_all();
    printf("%d failures of stubs\n", ground_failures);
    return ground_failures != 0;
}

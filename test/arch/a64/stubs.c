/*
 * Event stubs of A64, run from many register states. They write one event. They change no
 * register, no flag, and no memory except below the stack pointer. They branch to the agent
 * exactly where they should.
 */
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "../guard_cases.h"

enum { RING = 4096 };
#include "stub_setup.h"

enum { SINK = LANE + 0x10000, SITE = 0x12345675, SEEDS = 16, CALLER = 0x55667000 };
enum { DONE, SEEK, WAIT, DROP, SLICE, HOOK }; /* ways out: arrive_*() */

static uint64_t ticks(void) {
    uint64_t value;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(value) : : "memory");
    return value;
}

/* In place of the agent: five ways out. */
static void write_agent(void) {
    static const unsigned ways[] = {SEEK, WAIT, DROP, SLICE, HOOK};
    for (unsigned i = 0; i < 5; i++)
        ground_write_jump(AGENT + 4 * i, ground_arrival(ways[i]));
}

static uint32_t site = SITE;

static size_t write_stub(uint8_t variant, enum overflow overflow) {
    uint8_t code[STUB_MAX_BYTES];
    const struct stub_spec spec = {.variant = variant,
                                   .site = site,
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

/* Fails unless memory above the stack pointer is unchanged. */
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
    if (e->site != site || event_sp(e) != (value & 0xffffffffffff))
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
                                                    : in.sp + ((site & 3) == EVENT_CONTROL);
        check_event(variant, head, value, between);
        check_unchanged(seed, variant);
    }
}

/* A call from elsewhere makes no event. Where the processor signs addresses, a signed return
 * address counts as the plain one. */
static void check_callers(void) {
    enum { HAS_PAC = 1 << 30 /* HWCAP_PACA */ };
    const struct {
        uint64_t address;
        bool counts;
    } callers[] = {{CALLER, true},
                   {CALLER + 0xfff, true},
                   {CALLER - 1, false},
                   {CALLER + 0x1000, false},
                   {0, false},
                   {0x7fffffffffff, false},
                   {0x002a000000000000 | CALLER, getauxval(AT_HWCAP) & HAS_PAC}};
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
    bool again; /* returns to the lane lookup; otherwise the registers hold the return address */
};

/* At the agent's entry: the address to return to, the lane, and the head before. */
static void check_way(const struct way *w) {
    uint32_t frame = a64_stub_frame(w->variant), pushes = frame / 4, pops = pushes;
    struct state in;
    size_t size = write_stub(w->variant, w->overflow);
    write_lane(64, w->full ? 64 : RING, w->known);
    struct state out = run(w->arrives, CALLER, &in);
    uint64_t back = w->again ? STUB + pushes : STUB + size - pops;
    if (out.arrived != w->arrives || out.x[0] != back || out.sp != in.sp - frame ||
        out.nzcv != in.nzcv || out.x[30] != in.x[30])
        ground_fail("a way to the agent", w->arrives, "another state");
    if (w->full && (out.x[3] != LANE || out.x[1] != 64 || lane()->head != 64 + EVENT_BYTES))
        ground_fail("a way to the agent", w->arrives, "another lane or head");
    if (!w->full && lane()->head != 64)
        ground_fail("a way to the agent", w->arrives, "has reserved a slot");
}

/* ---- lanes off the place where stubs look first, with the agent itself ---- */

static struct control answers, reads;

/* The thread's key is OFF places from where stubs look first. */
static void write_key(unsigned off) {
    const uint64_t self = thread_pointer();
    const struct lane_asks asks = {(uintptr_t)&answers, SINK, (uintptr_t)&reads};
    struct lane_key *keys = pointer(LANES);
    ground_write_bytes(LANES, a64_agent_bytes, a64_agent_size);
    memcpy(pointer(LANES + arm_agent_labels().asks), &asks, sizeof asks);
    memset(keys, 0xff, LANES_BYTES);
    keys[((self >> LANES_SHIFT) + off) % (1U << LANES_BITS)] = (struct lane_key){self, LANE};
    memset(lane(), 0, LANE_RING + RING);
    memset(pointer(SINK), 0, LANE_RING + RING);
    lane()->limit = ((struct lane *)pointer(SINK))->limit = INT64_MAX;
}

static void expect_writes_to(const char *what, uint64_t where) {
    struct state in, out = run(1, CALLER, &in);
    const struct lane *right = pointer(where), *wrong = pointer(LANE + SINK - where);
    in.arrived = DONE;
    ground_compare(what, 0, &in, &out);
    if (right->head != EVENT_BYTES || wrong->head)
        ground_fail(what, 0, "writes to another lane");
}

static void check_lane_lookup(void) {
    static const unsigned off[] = {1, (1U << LANES_BITS) - 1, 7};
    write_stub(0, OVERFLOW_WAIT);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        write_key(off[i]);
        expect_writes_to("a lane that is found", LANE);
    }
    answers.owner = CONTROL_OWNER_DIED;
    write_key(5);
    expect_writes_to("a lane that is found after the answering process died", LANE);
    write_key(5);
    memset(pointer(LANES), 0xff, LANE_KEYS_BYTES);
    expect_writes_to("a thread without a lane", SINK);
    reads.owner = CONTROL_OWNER_DIED; /* then the table is not searched at all */
    write_key(5);
    expect_writes_to("a thread of a dead tool", SINK);
    answers.owner = reads.owner = 0;
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
    write_stub(STUB_HOOK | STUB_GUARD, OVERFLOW_WAIT);
    for (int i = 0; i < GUARD_CASES; i++) {
        struct state in, out;
        pthread_t helper;
        write_key(5);
        memcpy(pointer(LANES + arm_agent_labels().guarded), &guarded_ranges, sizeof guarded_ranges);
        lane()->control = (uint64_t)(uintptr_t)&answers;
        ground_fill(&in, 1);
        in.x[0] = guard_cases[i].address;
        in.x[1] = guard_cases[i].size;
        if (guard_cases[i].waits && pthread_create(&helper, NULL, release, NULL))
            abort();
        ground_run(&in, &out);
        if (guard_cases[i].waits)
            pthread_join(helper, NULL);
        in.arrived = DONE;
        ground_compare("a guard", (uint32_t)i, &in, &out);
    }
}

/* ---- slices, with the agent itself ---- */

/* A wrong tag raises a signal at once: PR_TAGGED_ADDR_ENABLE, PR_MTE_TCF_SYNC. */
enum { TELLS_TAGS = 1 | 1 << 1 };

static void set_tag(char *granule, uint64_t tag) {
    uint64_t tagged = (uint64_t)(uintptr_t)granule | tag << 56;
    __asm__ volatile(".arch armv8.5-a+memtag\n\tstg %0, [%0]" : : "r"(tagged) : "memory");
}

enum { SLICE_BYTES = 256, FIRST_REGISTER = 19, REGISTERS = 12 };
static struct control control;

static void allow_slices(uint64_t head, uint64_t limit, uint64_t stack_bytes) {
    write_lane(head, limit, true);
    lane()->control = (uint64_t)(uintptr_t)&control;
    lane()->slice_bytes = SLICE_BYTES;
    lane()->stack_bytes = stack_bytes;
}

static const struct event *slot(uint64_t head) { return pointer(LANE + LANE_RING + head % RING); }

static void expect_slot(uint64_t head, uint32_t id, uint64_t value) {
    const struct event *e = slot(head);
    if (e->site != (id << 2 | EVENT_CONTROL) || event_sp(e) != (value & 0xffffffffffff) ||
        !(e->clock_sp >> 16))
        ground_fail("a slice", id, "tells something else");
}

/* Whether WORD can be an address of the program, signed or not. */
static bool is_recorded(uint64_t word) {
    return !(word >> 55 & 1) && (word & 0xffffffffffff) > 0xffff;
}

static struct state run_slice(uint64_t seed) {
    struct state in, out = run(seed, CALLER | UINT64_C(0x2a) << 48, &in);
    in.arrived = DONE;
    ground_compare("a slice", (uint32_t)seed, &in, &out);
    check_unchanged(seed, STUB_SLICE);
    return in;
}

/* Expects the whole slice, up to END bytes above the stack pointer. */
static void expect_slice(const struct state *in, uint64_t head, uint64_t end) {
    uint64_t first = head;
    expect_slot(head, SLICE_BEGIN, 0);
    expect_slot(head += EVENT_BYTES, SLICE_END, in->sp + end);
    for (uint32_t n = 0; n < REGISTERS; n++)
        expect_slot(head += EVENT_BYTES, SLICE_REGISTER + n, in->x[FIRST_REGISTER + n]);
    const uint64_t *words = pointer(in->sp);
    for (uint32_t n = 0; n < end / sizeof *words; n++)
        if (is_recorded(words[n]))
            expect_slot(head += EVENT_BYTES, SLICE_WORD + n, words[n]);
    head += EVENT_BYTES;
    if (lane()->head != head || lane()->slice_slots != (head - first) / EVENT_BYTES)
        ground_fail("a slice", (uint32_t)end, "has another size");
}

static void check_slice(uint64_t seed, uint64_t head, uint64_t end) {
    struct state in = run_slice(seed);
    expect_slice(&in, head, end);
}

/* Of a foreign stack only its page is known; words that are no addresses are left out. */
static void check_other_stack(void) {
    enum { REST = 64 };
    struct state in, out;
    ground_fill(&in, 1);
    in.sp = GROUND_STACK - REST;
    uint64_t *words = pointer(in.sp);
    words[0] = 0xffff;
    words[1] = 0x10000;
    words[2] = UINT64_MAX;
    words[3] = UINT64_C(0x007f000000000123);
    words[4] = UINT64_C(0xff7f000055555123);
    allow_slices(0, RING, 8);
    ground_run(&in, &out);
    in.arrived = DONE;
    ground_compare("a slice", REST, &in, &out);
    expect_slice(&in, 0, REST);
}

/* A function may begin at the end of a stack without a caller: memory above it may be unmapped. */
static void check_end_of_stack(uint64_t own_bytes) {
    struct state in, out;
    ground_fill(&in, 1);
    in.sp = GROUND_STACK;
    allow_slices(0, RING, own_bytes);
    ground_run(&in, &out);
    in.arrived = DONE;
    ground_compare("a slice", 0, &in, &out);
    expect_slice(&in, 0, 0);
}

/* Variables on the stack have memory tags of their own, if the processor has tags. */
static void check_tagged_stack(void) {
    enum { VARIABLE_AT = 32, GRANULE = 16, TAG = 6, MAY_TAG = 0x20 /* PROT_MTE */, PAGE = 4096 };
    struct state in, out;
    ground_fill(&in, 1);
    char *variable = (char *)pointer(in.sp) + VARIABLE_AT;
    if (prctl(PR_SET_TAGGED_ADDR_CTRL, TELLS_TAGS, 0, 0, 0) ||
        mprotect(pointer(in.sp & ~(uint64_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE | MAY_TAG))
        return;
    allow_slices(0, RING, INT64_MAX);
    lane()->slice_bytes = SLICE_BYTES | SLICE_TAGGED;
    set_tag(variable, TAG);
    ground_run(&in, &out);
    set_tag(variable, 0);
    in.arrived = DONE;
    ground_compare("a slice", TAG, &in, &out);
    expect_slice(&in, 0, SLICE_BYTES);
}

/* ---- waits for room, with the agent itself ---- */

static void *make_room(void *limit) {
    while (!__atomic_load_n(&lane()->waits, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane()->limit, *(uint64_t *)limit, __ATOMIC_RELEASE);
    return NULL;
}

/* The stub waits at HEAD, until there is room for BYTES. */
static struct state run_waiting(uint64_t head, uint64_t bytes) {
    uint64_t limit = head + bytes, begin = ticks();
    const struct event *e = slot(head);
    pthread_t helper;
    struct state in;
    lane()->limit = head;
    if (pthread_create(&helper, NULL, make_room, &limit))
        abort();
    struct state out = run(1, CALLER, &in);
    pthread_join(helper, NULL);
    in.arrived = DONE;
    ground_compare("a wait for room", 0, &in, &out);
    if (e->site != ((uint32_t)WAIT_EVENT << 2 | EVENT_CONTROL) || event_ticks(e, ticks()) < begin ||
        lane()->wait_since)
        ground_fail("a wait for room", 0, "is not recorded");
    return in;
}

static void check_waiting(void) {
    enum { HEAD = 64, SLICE = (SLICE_HEAD_SLOTS + SLICE_BYTES / 8) * EVENT_BYTES };
    ground_write_bytes(LANES, a64_agent_bytes, a64_agent_size);
    write_stub(0, OVERFLOW_WAIT);
    write_lane(HEAD, HEAD, true);
    lane()->control = (uint64_t)(uintptr_t)&control;
    run_waiting(HEAD, 2 * EVENT_BYTES);
    if (slot(HEAD + EVENT_BYTES)->site != SITE || lane()->head != HEAD + 2 * EVENT_BYTES)
        ground_fail("a wait for room", 1, "loses the event");
    write_stub(STUB_SLICE, OVERFLOW_WAIT);
    allow_slices(HEAD, HEAD, INT64_MAX);
    struct state in = run_waiting(HEAD, SLICE + EVENT_BYTES);
    expect_slice(&in, HEAD + EVENT_BYTES, SLICE_BYTES);
}

static void check_slices(void) {
    static const uint64_t all = INT64_MAX;
    ground_write_bytes(LANES, a64_agent_bytes, a64_agent_size);
    write_stub(STUB_SLICE, OVERFLOW_WAIT);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint64_t head = seed * 0x310 / EVENT_BYTES * EVENT_BYTES;
        struct state in;
        allow_slices(head, head + RING, all);
        check_slice(seed, head, SLICE_BYTES);
        ground_fill(&in, seed);
        allow_slices(head, head + RING, in.sp + 40);
        check_slice(seed, head, 40);
    }
    check_other_stack();
    check_tagged_stack();
    check_end_of_stack(8);
    check_end_of_stack(GROUND_STACK);
    allow_slices(0, (SLICE_HEAD_SLOTS + 1) * EVENT_BYTES, all);
    control.owner = CONTROL_OWNER_DIED;
    run_slice(1);
    control.owner = 0;
    if (lane()->head)
        ground_fail("a slice", 1, "is made for a dead tool");
    write_stub(STUB_SLICE, OVERFLOW_DROP);
    run_slice(2); /* there is no room: only a mark of the slice is recorded */
    expect_slot(0, SLICE_BEGIN, 0);
    if (lane()->head != EVENT_BYTES)
        ground_fail("a slice", 2, "is not left out");
    allow_slices(0, RING, all);
    lane()->slice_bytes = 0;
    run_slice(3);
    if (lane()->head)
        ground_fail("a slice", 3, "is made without a request");
}

/* ---- a signal between the two exclusive accesses ---- */

static unsigned interruptions;

/* A handler whose functions have stubs, too. It runs on the stub's stack; the stub's saved
 * registers lie above its stack pointer. */
static void interrupt(int sig, siginfo_t *info, void *frame) {
    if ((uintptr_t)info->si_addr - LANE >= LANE_RING || interruptions++ > 2)
        signal(sig, SIG_DFL);
    (void)frame;
    mprotect(pointer(LANE), LANE_RING, PROT_READ | PROT_WRITE);
    lane()->head += EVENT_BYTES;
}

static void check_interrupted(uint8_t variant) {
    const struct sigaction action = {.sa_sigaction = interrupt, .sa_flags = SA_SIGINFO};
    struct state in;
    uint64_t between[2];
    sigaction(SIGSEGV, &action, NULL);
    write_stub(variant, OVERFLOW_WAIT);
    write_lane(0, RING, true);
    interruptions = 0;
    mprotect(pointer(LANE), LANE_RING, PROT_READ);
    between[0] = ticks();
    struct state out = run(1, CALLER, &in);
    between[1] = ticks();
    in.arrived = DONE;
    ground_compare("a stub that is interrupted", variant, &in, &out);
    check_event(variant, EVENT_BYTES, in.sp, between);
    if (interruptions != 1)
        ground_fail("a stub that is interrupted", variant, "is not");
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
        {STUB_SLICE, OVERFLOW_WAIT, true, false, SLICE, false},
        {STUB_SLICE | STUB_CALLER, OVERFLOW_DROP, true, false, SLICE, false},
        {STUB_SLICE, OVERFLOW_DROP, false, false, SEEK, true},
    };
    ground_open();
    write_agent();
    for (size_t i = 0; i < sizeof variants; i++)
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
            check_recorded(variants[i], heads[k]);
    site = SITE | EVENT_CONTROL;
    check_recorded(0, 0);
    site = SITE;
    check_callers();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check_way(&ways[i]);
    check_lane_lookup();
    check_waiting();
    check_guard();
    check_slices();
    check_interrupted(0);
    check_interrupted(STUB_CALLER);
    printf("%d failures of stubs\n", ground_failures);
    return ground_failures != 0;
}

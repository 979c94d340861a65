/*
 * Stubs that judge calls (x86_64/judge.h), run in this process with the stubs of events behind
 * them. They change no register, x87 and vectors included. An entry is recorded if its predicate
 * holds, an exit if its call's entry was recorded, wherever threads are interrupted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/x86_64/capture.h"
#include "arch/x86_64/code.h"
#include "arch/x86_64/stub.h"
#include "run_code.h"
#include "values/predicate.h"

#define TESTS                                                                                      \
    TEST(registers_flags_and_red_zone_preserved)                                                   \
    TEST(comparisons_are_those_of_c)                                                               \
    TEST(words_of_registers_and_stack)                                                             \
    TEST(values_behind_pointers)                                                                   \
    TEST(what_cannot_be_read_is_false)                                                             \
    TEST(tests_lead_to_others)                                                                     \
    TEST(exits_are_recorded_if_entries_were)                                                       \
    TEST(calls_left_by_exceptions_are_shown)                                                       \
    TEST(calls_open_before_are_recorded)                                                           \
    TEST(all_is_recorded_when_a_set_is_full)                                                       \
    TEST(interrupted_anywhere)                                                                     \
    TEST(what_is_left_out_takes_few_instructions)                                                  \
    TEST(nothing_is_committed)

enum { RET = 0xc3, RING_BYTES = 4096, CODE_BYTES = 32768, ENTRY = 0x2468ace0, EXIT, SLOT_AT = 32 };
enum { VARIANTS = STUB_SAVE_FLAGS + STUB_SKIP_RED_ZONE + 1 };
enum { ARITHMETIC_FLAGS = 0x8d5, ALWAYS_SET = 0x202, PAGE = 4096, TRAP_FLAG = 0x100 };
enum { RAX = 0, RDX = 1, RCX = 2, RSI = 4, RDI = 5, RSP = 7, REGISTERS = 16 }; /* DWARF */

static struct lane *lane;
static struct control control;
static uint8_t *code;
static struct kept_calls *kept;

static int prepare(void **state) {
    (void)state;
    const size_t size = LANE_RING + RING_BYTES + KEPT_BYTES;
    lane = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    memcpy(code, agent_bytes, agent_size);
    kept = (void *)((uint8_t *)lane + LANE_RING + RING_BYTES);
    return lane == MAP_FAILED || code == MAP_FAILED ||
           syscall(SYS_arch_prctl, ARCH_SET_GS, (unsigned long)lane) != 0;
}

static int fresh_lane(void **state) {
    (void)state;
    memset(lane, 0, LANE_RING + RING_BYTES + KEPT_BYTES);
    control = (struct control){0};
    lane->control = (uint64_t)(uintptr_t)&control;
    lane->head = SLOT_AT;
    lane->limit = SLOT_AT + RING_BYTES;
    lane->ring_mask = RING_BYTES - 1;
    return 0;
}

struct made {
    uint8_t *at;
    size_t size, judge; /* of all; of the first stub */
};

static struct stub_spec spec_of(const struct made *m, uint8_t variant) {
    return (struct stub_spec){
        .variant = variant, .ring_bytes = RING_BYTES, .agent = code - (m->at + m->size)};
}

static size_t add_judge(struct made *m, uint8_t variant, enum judged judged,
                        const struct predicate *p, size_t skip) {
    struct stub_spec spec = spec_of(m, variant | STUB_JUDGE);
    spec.judged = judged;
    spec.predicate = p;
    spec.skip = (uint32_t)skip;
    const size_t size = stub_emit(m->at + m->size, &spec);
    assert_int_equal(size, stub_size(spec.variant, OVERFLOW_WAIT) + stub_judge_bytes(judged, p));
    m->size += size;
    return size;
}

static void add_event(struct made *m, uint8_t variant, uint32_t site) {
    struct stub_spec spec = spec_of(m, variant);
    spec.site = site;
    m->size += stub_emit(m->at + m->size, &spec);
}

static struct made begin(void) {
    return (struct made){code + ((agent_size + 15) & ~(size_t)15), 0, 0};
}

static struct made end(struct made m) {
    m.at[m.size] = RET;
    return m;
}

static struct made entry(uint8_t variant, const struct predicate *p) {
    struct made m = begin();
    m.judge = add_judge(&m, variant, JUDGED_ENTRY, p, stub_size(variant, OVERFLOW_WAIT));
    add_event(&m, variant, ENTRY);
    return end(m);
}

static struct made exit_of(uint8_t variant) {
    struct made m = begin();
    const size_t behind =
        stub_size(variant | STUB_JUDGE, OVERFLOW_WAIT) + stub_judge_bytes(JUDGED_END, NULL);
    m.judge = add_judge(&m, variant, JUDGED_EXIT, NULL, stub_size(variant, OVERFLOW_WAIT) + behind);
    add_event(&m, variant, EXIT);
    add_judge(&m, variant, JUDGED_END, NULL, 0);
    return end(m);
}

/* The same stack pointer at all calls. */
static __attribute__((noinline)) void call_code(struct cpu *cpu, struct vectors *vectors,
                                                const void *at) {
    static uintptr_t base;
    char here;
    base = base ? base : (uintptr_t)&here - 4 * PAGE;
    volatile char *deeper = __builtin_alloca((uintptr_t)&here - base);
    deeper[0] = 0;
    const struct vectors before = *vectors;
    run_code_with_vectors(cpu, at, vectors);
    assert_true(same_vectors(vectors, &before));
}

/* REGISTERS: values by numbers in DWARF; 0: any. Returns whether an event was written. */
static uint64_t last_sp;
static bool run(uint8_t variant, struct made m, const uint64_t registers[REGISTERS]) {
    struct cpu before, after;
    struct vectors vectors;
    const uint64_t head = lane->head;
    for (int i = 0; i < REGISTERS; i++)
        before.registers[code_register((uint8_t)i)] =
            registers && registers[i] ? registers[i] : 0x0123456789abcdef * (uint64_t)(2 * i + 1);
    for (int i = 0; i < RED_ZONE_BYTES; i++)
        before.red_zone[i] = (uint8_t)(i * 7 + 1);
    before.flags = ARITHMETIC_FLAGS | ALWAYS_SET;
    after = before;
    fill_vectors(&vectors);
    call_code(&after, &vectors, m.at);
    assert_memory_equal(after.registers, before.registers, sizeof before.registers);
    if (variant & STUB_SAVE_FLAGS)
        assert_int_equal(after.flags, before.flags);
    if (variant & STUB_SKIP_RED_ZONE)
        assert_memory_equal(after.red_zone, before.red_zone, RED_ZONE_BYTES);
    last_sp = after.sp;
    assert_true(lane->head - head <= EVENT_BYTES);
    return lane->head != head;
}

static struct predicate_test test_of(uint8_t reg, unsigned bits, bool is_signed,
                                     enum predicate_op op, uint64_t constant) {
    return (struct predicate_test){.value = {.from = FROM_REGISTER, .reg = reg, .bytes = 8},
                                   .size = 8,
                                   .bits = (uint8_t)bits,
                                   .is_signed = is_signed,
                                   .op = op,
                                   .constant = constant,
                                   .on_true = PREDICATE_TRUE,
                                   .on_false = PREDICATE_FALSE};
}

static bool holds_with(const struct predicate_test *t, const uint64_t registers[REGISTERS]) {
    const struct predicate p = {(struct predicate_test *)t, 1};
    memset(kept, 0, sizeof *kept);
    return run(STUB_SAVE_FLAGS, entry(STUB_SAVE_FLAGS, &p), registers);
}

static void registers_flags_and_red_zone_preserved(void **state) {
    struct predicate_test t = test_of(RDI, 64, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    for (uint8_t v = 0; v < VARIANTS; v++) {
        fresh_lane(state);
        assert_false(run(v, exit_of(v), NULL));
        assert_false(run(v, entry(v, &p), (uint64_t[REGISTERS]){[RDI] = 78}));
        assert_int_equal(kept->count, 0);
        assert_true(run(v, entry(v, &p), (uint64_t[REGISTERS]){[RDI] = 77}));
        assert_int_equal(kept->count, 1);
        assert_true(run(v, exit_of(v), NULL));
        assert_int_equal(kept->count, 0);
        assert_false(run(v, exit_of(v), NULL));
    }
}

static bool compares(enum predicate_op op, int order) {
    const bool holds[] = {
        [TEST_EQUAL] = !order,     [TEST_UNEQUAL] = !!order,      [TEST_LESS] = (order < 0),
        [TEST_MORE] = (order > 0), [TEST_AT_MOST] = (order <= 0), [TEST_AT_LEAST] = (order >= 0)};
    return holds[op];
}

/* What T says of the word in which its bits are. */
static bool expected(const struct predicate_test *t, uint64_t whole) {
    uint64_t value = whole >> t->shift;
    if (t->bits < 64)
        value &= (UINT64_C(1) << t->bits) - 1;
    if (t->is_signed && value >> (t->bits - 1) & 1 && t->bits < 64)
        value |= UINT64_MAX << t->bits;
    if (t->masked)
        value &= t->mask;
    const int64_t a = (int64_t)value, b = (int64_t)t->constant;
    const int order = t->is_signed && !t->masked ? (a > b) - (a < b)
                                                 : (value > t->constant) - (value < t->constant);
    return compares(t->op, order);
}

/* The number that the BITS lowest bits of WORD are. */
static uint64_t number_of(uint64_t whole, unsigned bits, bool is_signed) {
    const uint64_t value = bits < 64 ? whole & ((UINT64_C(1) << bits) - 1) : whole;
    return is_signed && bits < 64 && value >> (bits - 1) & 1 ? value | UINT64_MAX << bits : value;
}

static void comparisons_are_those_of_c(void **state) {
    static const uint8_t widths[] = {1, 3, 8, 13, 16, 31, 32, 33, 63, 64};
    static const uint64_t words[] = {0,          1,          5,
                                     0x7f,       0x80,       0x7fffffff,
                                     0x80000000, UINT64_MAX, UINT64_C(1) << 63,
                                     INT64_MAX,  0xfffffffb, 0x1234567890abcdef};
    enum { WIDTHS = sizeof widths, WORDS = sizeof words / sizeof *words };
    unsigned seen[2] = {0};
    (void)state;
    for (unsigned i = 0; i < WIDTHS * 2 * 6 * WORDS * WORDS; i++) {
        const unsigned bits = widths[i % WIDTHS], form = i / WIDTHS % 12;
        const uint64_t a = words[i / WIDTHS / 12 % WORDS], b = words[i / WIDTHS / 12 / WORDS];
        struct predicate_test t = test_of(RDI, bits, form & 1, (enum predicate_op)(form / 2),
                                          number_of(b, bits, form & 1));
        t.shift = (uint8_t)(i % (65 - bits));
        t.masked = i % 5 == 0;
        t.mask = b;
        const uint64_t whole = a << t.shift | (t.shift ? 1 : 0);
        lane->head = SLOT_AT;
        const bool holds = holds_with(&t, (uint64_t[REGISTERS]){[RDI] = whole ? whole : 1});
        assert_int_equal(holds, expected(&t, whole ? whole : 1));
        seen[holds]++;
    }
    assert_true(seen[0] > 1000 && seen[1] > 1000);
}

static void words_of_registers_and_stack(void **state) {
    (void)state;
    for (uint8_t reg = 0; reg < REGISTERS; reg++) {
        const uint64_t value = 0xabcdef0123456700 + reg;
        struct predicate_test t = test_of(reg, 64, false, TEST_EQUAL, value);
        uint64_t registers[REGISTERS] = {0};
        registers[reg] = value;
        if (reg == RSP)
            continue;
        assert_true(holds_with(&t, registers));
        registers[reg]++;
        assert_false(holds_with(&t, registers));
    }
    struct predicate_test t = test_of(RSP, 64, false, TEST_EQUAL, 0);
    t.constant = last_sp;
    assert_true(holds_with(&t, NULL));
    t.constant = run_code_returns_to();
    t.value = (struct capture_value){.from = FROM_STACK, .bytes = 8};
    assert_true(holds_with(&t, NULL));
    t.value.stack_offset = -8;
    t.at = 8;
    assert_true(holds_with(&t, NULL));
    t.constant++;
    assert_false(holds_with(&t, NULL));
}

struct node {
    int16_t id;
    uint8_t small;
    int8_t sign;
    struct node *next;
    uint64_t wide;
};

static struct predicate_test behind(size_t last, unsigned size) {
    struct predicate_test t = test_of(RDI, size * 8, true, TEST_EQUAL, 0);
    t.value = (struct capture_value){
        .from = FROM_REGISTER,
        .reg = RDI,
        .steps = 3,
        .bytes = 16,
        .step = {{offsetof(struct node, next)}, {offsetof(struct node, next)}, {(int32_t)last}}};
    t.size = (uint8_t)size;
    return t;
}

static void values_behind_pointers(void **state) {
    struct node c = {.id = -2, .small = 200, .sign = -5, .wide = UINT64_MAX - 1}, b = {.next = &c},
                a = {.next = &b};
    const uint64_t registers[REGISTERS] = {[RDI] = (uintptr_t)&a};
    static const struct {
        size_t at;
        unsigned size;
        uint64_t value;
    } members[] = {{offsetof(struct node, id), 2, (uint64_t)-2},
                   {offsetof(struct node, small), 1, (uint64_t)(int8_t)200},
                   {offsetof(struct node, sign), 1, (uint64_t)-5},
                   {offsetof(struct node, wide), 8, UINT64_MAX - 1},
                   {offsetof(struct node, wide), 4, (uint64_t)-2}};
    (void)state;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct predicate_test t = behind(members[i].at, members[i].size);
        t.constant = members[i].value;
        assert_true(holds_with(&t, registers));
        t.constant++;
        assert_false(holds_with(&t, registers));
    }
    struct predicate_test t = behind(0, 8);
    t.at = offsetof(struct node, wide);
    t.constant = c.wide;
    assert_true(holds_with(&t, registers));
    t.value.step[2].offset = -8;
    t.at += 8;
    assert_true(holds_with(&t, registers));
}

/* As the tool does, goes on where rdx points. */
static unsigned faults;
static void pass_fault(int signal, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)signal, (void)info;
    if (registers[REG_RIP] < (greg_t)(uintptr_t)code ||
        registers[REG_RIP] > (greg_t)(uintptr_t)code + CODE_BYTES)
        _exit(3);
    registers[REG_RIP] = registers[REG_RDX];
    faults++;
}

static void what_cannot_be_read_is_false(void **state) {
    static const uint64_t wild[] = {8, 4095, UINT64_C(1) << 47, UINT64_MAX - 100, 0x10000};
    const struct sigaction action = {.sa_sigaction = pass_fault, .sa_flags = SA_SIGINFO};
    struct node a = {.id = 1};
    uint8_t byte;
    (void)state;
    sigaction(SIGSEGV, &action, NULL);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        for (unsigned size = 1; size <= 8; size *= 2)
            for (int at = 0; at < 2; at++) {
                struct node b = {.next = (struct node *)(uintptr_t)wild[i]};
                struct predicate_test t = behind(offsetof(struct node, wide), size);
                t.op = TEST_UNEQUAL;
                t.constant = 0x77;
                a.next = at ? &b : b.next;
                assert_false(holds_with(&t, (uint64_t[REGISTERS]){[RDI] = (uintptr_t)&a}));
            }
    assert_int_equal(faults, 24); /* 8 at each address that a program may have: not at 8, −101 */
    struct predicate_test t = behind(offsetof(struct node, wide), 8);
    const uint64_t good[REGISTERS] = {[RDI] = (uintptr_t)&a};
    a.next = &a;
    t.op = TEST_EQUAL;
    assert_true(holds_with(&t, good));
    control.owner = CONTROL_OWNER_DIED;
    assert_false(holds_with(&t, good));
    control.owner = 0;
    memset(kept, 0, sizeof *kept);
    const struct made m = entry(STUB_SAVE_FLAGS, &(struct predicate){&t, 1});
    const uint32_t look = capture_read_switch(m.at, (uint32_t)m.judge, &byte);
    assert_true(look);
    m.at[look] = byte; /* withdrawn */
    assert_false(run(STUB_SAVE_FLAGS, m, good));
    signal(SIGSEGV, SIG_DFL);
}

/* (a && b) || c */
static void tests_lead_to_others(void **state) {
    struct predicate_test tests[] = {test_of(RCX, 32, true, TEST_MORE, 5),
                                     test_of(RDX, 32, true, TEST_MORE, 5),
                                     test_of(RAX, 32, true, TEST_MORE, 5)};
    const struct predicate p = {tests, 3};
    tests[1].on_false = tests[2].on_false = 0;
    tests[2].on_true = 1;
    for (unsigned i = 0; i < 8; i++) {
        fresh_lane(state);
        const uint64_t registers[REGISTERS] = {
            [RAX] = i & 1 ? 6 : 5, [RDX] = i & 2 ? 6 : 5, [RCX] = i & 4 ? 6 : 5};
        assert_int_equal(run(STUB_SAVE_FLAGS, entry(STUB_SAVE_FLAGS, &p), registers),
                         (i & 3) == 3 || i & 4);
    }
}

static void exits_are_recorded_if_entries_were(void **state) {
    struct predicate_test t = test_of(RDI, 64, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    const uint8_t v = STUB_SAVE_FLAGS;
    const uint64_t yes[REGISTERS] = {[RDI] = 77}, no[REGISTERS] = {[RDI] = 78};
    (void)state;
    assert_true(run(v, entry(v, &p), yes));
    assert_true(run(v, entry(v, &p), yes)); /* the first one was unwound */
    assert_int_equal(kept->count, 1);
    assert_int_equal(kept->newest, ~last_sp);
    assert_true(run(v, entry(v, &p), no)); /* so was the second: readers must see this */
    assert_true(run(v, exit_of(v), NULL));
    assert_int_equal(kept->count, 0);
    assert_false(run(v, entry(v, &p), no));
    assert_false(run(v, exit_of(v), NULL));
    /* Another call is kept, far above. */
    kept->sets[3][2] = 0x7fff00000000;
    kept->count = 1;
    assert_false(run(v, entry(v, &p), no));
    assert_false(run(v, exit_of(v), NULL));
    assert_true(run(v, entry(v, &p), yes));
    assert_true(run(v, exit_of(v), NULL));
    assert_int_equal(kept->count, 1);
}

/* An entry above a call that was kept shows that it is over. */
static void calls_left_by_exceptions_are_shown(void **state) {
    struct predicate_test t = test_of(RDI, 64, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    const uint8_t v = STUB_SAVE_FLAGS;
    const uint64_t no[REGISTERS] = {[RDI] = 78};
    for (int other = -64; other <= 64; other += 64) {
        fresh_lane(state);
        assert_false(run(v, entry(v, &p), no));
        kept->newest = ~(last_sp + (uint64_t)other);
        kept->sets[0][0] = last_sp + 1024; /* any */
        kept->count = 1;
        const bool shows = other < 0;
        assert_int_equal(run(v, entry(v, &p), no), shows);
        assert_int_equal(run(v, exit_of(v), NULL), shows);
        assert_false(run(v, entry(v, &p), no)); /* once is enough */
        assert_false(run(v, exit_of(v), NULL));
    }
}

static void calls_open_before_are_recorded(void **state) {
    struct predicate_test t = test_of(RDI, 64, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    const uint8_t v = STUB_SAVE_FLAGS;
    const uint64_t no[REGISTERS] = {[RDI] = 78};
    (void)state;
    assert_false(run(v, exit_of(v), NULL));
    kept->count = 1;
    for (int below = -8; below <= 8; below += 8) {
        kept->from = ~(last_sp + (uint64_t)below);
        assert_int_equal(run(v, exit_of(v), NULL), below <= 0);
        assert_int_equal(run(v, entry(v, &p), no), below <= 0);
        assert_int_equal(run(v, exit_of(v), NULL), below <= 0);
        assert_int_equal(kept->count, 1);
    }
}

static void all_is_recorded_when_a_set_is_full(void **state) {
    struct predicate_test t = test_of(RDI, 64, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    const uint8_t v = STUB_SAVE_FLAGS;
    const uint64_t yes[REGISTERS] = {[RDI] = 77}, no[REGISTERS] = {[RDI] = 78};
    (void)state;
    for (int used = 0; used <= KEPT_WAYS; used++) {
        memset(kept, 0, sizeof *kept);
        for (int i = 0; i < KEPT_SETS; i++)
            for (int k = 0; k < used; k++)
                kept->sets[i][k] = 0x7fff00000000 + 16 * (uint64_t)(i * KEPT_WAYS + k);
        kept->count = (uint64_t)used * KEPT_SETS;
        assert_true(run(v, entry(v, &p), yes));
        assert_int_equal(kept->full, used == KEPT_WAYS);
        assert_true(run(v, exit_of(v), NULL));
        assert_int_equal(run(v, entry(v, &p), no), used == KEPT_WAYS);
        assert_int_equal(run(v, exit_of(v), NULL), used == KEPT_WAYS);
    }
}

/* ---- interruptions ---- */

static sigjmp_buf away;
static unsigned steps_left;
static struct made running;

static void on_step(int signal, siginfo_t *info, void *context) {
    const greg_t pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    const greg_t at = (greg_t)(uintptr_t)running.at;
    (void)signal, (void)info;
    if (pc >= at && pc <= at + (greg_t)running.size && !steps_left--)
        siglongjmp(away, 1);
}

/* Runs M up to its instruction number STEPS. False: it has fewer. */
static bool interrupt(struct made m, const uint64_t registers[REGISTERS], unsigned steps) {
    enum { POPF = 0x9d, PUSH = 0x68, JMP = 0xe9 };
    uint8_t *to = m.at + m.size + 1;
    const uint32_t flags = TRAP_FLAG | ALWAYS_SET;
    const int32_t back = (int32_t)(m.at - (to + 11));
    struct cpu cpu = {.flags = ALWAYS_SET};
    static struct vectors vectors = {.control = 0x37f, .mxcsr = 0x1f80};
    for (int i = 0; i < REGISTERS; i++)
        cpu.registers[code_register((uint8_t)i)] = registers ? registers[i] : 0;
    to[0] = PUSH;
    memcpy(to + 1, &flags, sizeof flags);
    to[5] = POPF;
    to[6] = JMP;
    memcpy(to + 7, &back, sizeof back);
    steps_left = steps;
    running = m;
    if (sigsetjmp(away, 1))
        return true;
    call_code(&cpu, &vectors, to);
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(uint64_t)TRAP_FLAG);
    return false;
}

static unsigned kept_here(void) {
    unsigned n = 0;
    for (int i = 0; i < KEPT_SETS * KEPT_WAYS; i++)
        n += kept->sets[i / KEPT_WAYS][i % KEPT_WAYS] != 0;
    return n;
}

static void interrupted_anywhere(void **state) {
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct predicate_test t = test_of(RDI, 64, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    const uint64_t yes[REGISTERS] = {[RDI] = 77};
    const uint8_t v = 0;
    unsigned entries = 0, exits = 0;
    sigaction(SIGTRAP, &action, NULL);
    for (bool more = true; more; entries++) {
        fresh_lane(state);
        more = interrupt(entry(v, &p), yes, entries);
        assert_true(kept->count >= kept_here());
        assert_true(run(v, entry(v, &p), yes));
        assert_int_equal(kept_here(), 1);
        assert_true(kept->count >= 1);
        assert_true(run(v, exit_of(v), NULL));
        assert_int_equal(kept_here(), 0);
    }
    for (bool more = true; more; exits++) {
        fresh_lane(state);
        assert_true(run(v, entry(v, &p), yes));
        const uint64_t head = lane->head;
        more = interrupt(exit_of(v), NULL, exits);
        assert_true(kept->count >= kept_here());
        /* Before its event is written, it can begin once more. */
        const bool written = lane->head != head;
        assert_int_equal(run(v, exit_of(v), NULL), !written || kept_here());
    }
    assert_true(entries > 20 && exits > 20);
    signal(SIGTRAP, SIG_DFL);
}

/* How many instructions of M are run, its return among them. */
static unsigned instructions(struct made m, const uint64_t registers[REGISTERS]) {
    const unsigned most = 1000;
    assert_false(interrupt(m, registers, most));
    return most - steps_left;
}

/* 2 ns at 3 GHz are some 24 simple instructions. */
static void what_is_left_out_takes_few_instructions(void **state) {
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct predicate_test t = test_of(RDI, 32, true, TEST_EQUAL, 77);
    const struct predicate p = {&t, 1};
    (void)state;
    sigaction(SIGTRAP, &action, NULL);
    assert_int_equal(instructions(entry(0, &p), (uint64_t[REGISTERS]){[RDI] = 78}), 13);
    assert_int_equal(instructions(exit_of(0), NULL), 10);
    kept->count = 1; /* another call is open */
    kept->newest = 1;
    kept->sets[0][0] = UINT64_MAX;
    assert_int_equal(instructions(entry(0, &p), (uint64_t[REGISTERS]){[RDI] = 78}), 39);
    assert_int_equal(instructions(exit_of(0), NULL), 33);
    signal(SIGTRAP, SIG_DFL);
}

static void nothing_is_committed(void **state) {
    (void)state;
    for (uint8_t v = 0; v < VARIANTS; v++) {
        const uint8_t variant = v | STUB_JUDGE;
        struct stub_state s;
        unsigned whole = 0;
        assert_true(
            stub_state_at(variant, OVERFLOW_WAIT, stub_capture_at(variant, OVERFLOW_WAIT), &s));
        assert_int_equal(s.pushed, 3 + (v & STUB_SAVE_FLAGS));
        for (uint32_t i = 0; i < stub_size(variant, OVERFLOW_WAIT); i++) {
            if (!stub_state_at(variant, OVERFLOW_WAIT, i, &s))
                continue;
            assert_false(s.reserved || s.committed);
            whole += !s.pushed && !s.skipped;
        }
        assert_true(whole >= 2); /* the start, and the jump in the middle */
    }
}

#define TEST(name) cmocka_unit_test_setup(name, fresh_lane),
int main(void) {
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests(tests, prepare, NULL);
}

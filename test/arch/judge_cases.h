/*
 * What stubs that judge calls do on AArch64, A32 and T32, for a64/judges.c and a32/judges.c. These
 * have, before they include this file:
 *
 *   REGISTERS, SP_NUMBER, WORD_BYTES    numbers in DWARF; bytes of a register
 *   RING, LANE, GROUND_*, HOLE          a ring's size; places of memory; HOLE: there is none
 *   struct state, set_register(), sp_of()
 *   fresh_lane()                        the thread's lane, with an empty ring
 *   emit(), plain_bytes(), judge_bytes(), capture_at(), state_at(), read_switch()
 *                                       as in struct arch, without the overflow; emit() at an
 *                                       offset in the code under test
 *   put_code(), run_code()              of the code under test
 *   insn_bytes(), break_at()            of the code under test: an instruction's size; writes one
 *                                       that raises a signal
 *   faults, stops                       reads that have faulted, and instructions of break_at(),
 *                                       after which handlers have gone on as the tool does
 *   control                             of the lane
 */
#pragma once

#include "values/predicate.h"

enum { ENTRY_SITE = 0x12345674, EXIT_SITE, PARTS = 3, KIND_REGISTER = 0, KIND_STACK, KIND_MEMORY };

static uint64_t random_state;
static uint64_t any(uint64_t below) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

static struct kept_calls *kept(void) { return pointer(LANE + LANE_RING + RING); }

static void clear(void) {
    fresh_lane();
    memset(kept(), 0, sizeof(struct kept_calls));
}

/* ---- the code under test: the stubs of a site ---- */

static struct site_stub {
    uint32_t at, size;
    uint8_t variant;
} parts[PARTS];
static unsigned part_count;
static uint32_t code_bytes;
static uint8_t code[4 * STUB_CAPTURE_BYTES];

static void add_part(struct stub_spec spec) {
    struct site_stub *p = &parts[part_count++];
    *p = (struct site_stub){code_bytes, 0, spec.variant};
    p->size = (uint32_t)emit(code + code_bytes, &spec, code_bytes);
    const bool judges = stub_judges(spec.variant);
    if (p->size !=
        plain_bytes(spec.variant) + (judges ? judge_bytes(spec.judged, spec.predicate) : 0))
        ground_fail("a stub", spec.variant, "has another size");
    code_bytes += p->size;
}

static void add_judge(enum judged judged, const struct predicate *p, uint16_t pops, uint32_t skip) {
    add_part((struct stub_spec){
        .variant = STUB_JUDGE, .judged = judged, .predicate = p, .pops = pops, .skip = skip});
}

static void begin_code(void) { part_count = code_bytes = 0; }

static void write_entry(const struct predicate *p) {
    begin_code();
    add_judge(JUDGED_ENTRY, p, 0, plain_bytes(0));
    add_part((struct stub_spec){.site = ENTRY_SITE});
    put_code(code, code_bytes);
}

static void write_exit(uint16_t pops) {
    const uint32_t end = plain_bytes(STUB_JUDGE) + judge_bytes(JUDGED_END, NULL);
    begin_code();
    add_judge(JUDGED_EXIT, NULL, pops, plain_bytes(0) + end);
    add_part((struct stub_spec){.site = EXIT_SITE, .pops = pops});
    add_judge(JUDGED_END, NULL, pops, 0);
    put_code(code, code_bytes);
}

/* Runs the code. Returns whether an event was written. */
static bool run_site(struct state *in) {
    uint8_t before[GROUND_PART];
    struct state out;
    const uint64_t head = lane()->head;
    memcpy(before, pointer(GROUND_STACK), sizeof before);
    run_code(in, &out);
    in->arrived = DONE;
    ground_compare("stubs that judge", (uint32_t)random_state, in, &out);
    if (memcmp(before, pointer(GROUND_STACK), sizeof before) != 0)
        ground_fail("stubs that judge", code_bytes, "write above the stack pointer");
    if (lane()->head - head > EVENT_BYTES)
        ground_fail("stubs that judge", code_bytes, "write several events");
    return lane()->head != head;
}

static bool run_entry(const struct predicate *p, struct state *in) {
    write_entry(p);
    return run_site(in);
}

static bool run_exit(struct state *in) {
    write_exit(0);
    return run_site(in);
}

static void expect(bool right, const char *what) {
    if (!right)
        ground_fail(what, (uint32_t)random_state, "is not so");
}

/* ---- tests ---- */

static struct predicate_test test_of(uint8_t reg, unsigned bits, bool is_signed,
                                     enum predicate_op op, uint64_t constant) {
    return (struct predicate_test){
        .value = {.from = FROM_REGISTER, .reg = reg, .bytes = WORD_BYTES, .length_of = -1},
        .size = 8,
        .bits = (uint8_t)bits,
        .is_signed = is_signed,
        .op = op,
        .constant = constant,
        .on_true = PREDICATE_TRUE,
        .on_false = PREDICATE_FALSE};
}

static bool holds(const struct predicate_test *t, struct state *in) {
    const struct predicate p = {(struct predicate_test *)t, 1};
    clear();
    return run_entry(&p, in);
}

static uint64_t number_of(uint64_t whole, unsigned bits, bool is_signed) {
    const uint64_t value = bits < 64 ? whole & ((UINT64_C(1) << bits) - 1) : whole;
    return is_signed && bits < 64 && value >> (bits - 1) & 1 ? value | UINT64_MAX << bits : value;
}

static bool compares(enum predicate_op op, int order) {
    switch (op) {
    case TEST_EQUAL:
        return order == 0;
    case TEST_UNEQUAL:
        return order != 0;
    case TEST_LESS:
        return order < 0;
    case TEST_AT_MOST:
        return order <= 0;
    case TEST_MORE:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* What T says of the word in which its bits are. */
static bool expected(const struct predicate_test *t, uint64_t whole) {
    const uint64_t number = number_of(whole >> t->shift, t->bits, t->is_signed);
    const uint64_t value = t->masked ? number & t->mask : number;
    const int64_t a = (int64_t)value, b = (int64_t)t->constant;
    const int order = t->is_signed && !t->masked ? (a > b) - (a < b)
                                                 : (value > t->constant) - (value < t->constant);
    return compares(t->op, order);
}

static uint64_t some_word(void) {
    static const uint64_t words[] = {0,          1,          5,
                                     0x7f,       0x80,       0x7fffffff,
                                     0x80000000, UINT64_MAX, UINT64_C(1) << 63,
                                     INT64_MAX,  0xfffffffb, UINT64_C(1) << 32,
                                     0xffffffff, 0xffff0000, 0x1234567890abcdef};
    return any(4) ? words[any(sizeof words / sizeof *words)] : any(UINT64_MAX);
}

/* Which bits of ROOM. */
static void some_bits(struct predicate_test *t, unsigned room) {
    static const uint8_t widths[] = {1, 3, 8, 13, 16, 31, 32, 33, 40, 63, 64};
    do
        t->bits = any(3) ? widths[any(sizeof widths)] : (uint8_t)(1 + any(64));
    while (t->bits > room);
    t->shift = any(2) ? (uint8_t)any(room - t->bits + 1) : 0;
    t->is_signed = any(2);
    t->op = (enum predicate_op)any(TEST_AT_LEAST + 1);
}

static void some_constant(struct predicate_test *t, uint64_t whole) {
    const uint64_t near = (whole >> t->shift) + any(3) - 1;
    t->masked = any(4) == 0;
    t->mask = some_word();
    t->constant = number_of(any(2) ? near : some_word(), t->bits, t->is_signed);
    if (t->masked)
        t->constant = any(2) ? number_of(near, t->bits, t->is_signed) & t->mask : some_word();
}

static unsigned seen[2][TEST_AT_LEAST + 1];

/* The word is in a register, on the stack, or behind a pointer, of 1 to 8 bytes there. */
static void check_comparison(uint64_t seed) {
    const uint8_t reg = (uint8_t)any(5);
    struct predicate_test t = test_of(reg, 64, false, TEST_EQUAL, 0);
    struct state in;
    uint64_t whole;
    ground_fill(&in, seed);
    random_state = seed;
    whole = some_word();
    const unsigned kind = (unsigned)any(3);
    t.size = kind == KIND_MEMORY ? (uint8_t)(1 << any(4)) : 8;
    some_bits(&t, 8 * (kind == KIND_REGISTER ? WORD_BYTES : t.size));
    if (kind == KIND_REGISTER) {
        set_register(&in, reg, whole);
    } else if (kind == KIND_STACK) {
        t.at = (uint16_t)(8 * any(3));
        t.value.from = FROM_STACK;
        t.value.bytes = (uint16_t)(t.at + 8);
        t.value.stack_offset = 8 * (int32_t)any(4);
        memcpy(pointer(GROUND_STACK + (uint32_t)t.value.stack_offset + t.at), &whole, 8);
    } else {
        t.at = (uint16_t)any(9);
        t.value.bytes = 24;
        t.value.steps = 1;
        t.value.step[0].offset = any(2) ? -(int32_t)any(9) : 70000;
        set_register(&in, reg, GROUND_DATA - (uint64_t)(int64_t)t.value.step[0].offset);
        memcpy(pointer(GROUND_DATA + t.at), &whole, t.size);
        whole &= t.size < 8 ? (UINT64_C(1) << 8 * t.size) - 1 : UINT64_MAX;
    }
    some_constant(&t, whole);
    const bool right = expected(&t, whole);
    seen[right][t.op]++;
    expect(holds(&t, &in) == right, "a comparison");
}

static void check_comparisons(unsigned count) {
    memset(seen, 0, sizeof seen);
    for (unsigned seed = 0; seed < count; seed++)
        check_comparison(seed);
    for (int op = TEST_EQUAL; op <= TEST_AT_LEAST; op++)
        if (seen[false][op] < count / 50 || seen[true][op] < count / 50)
            ground_fail("comparisons", seen[true][op], "have one outcome only");
}

static void check_registers(void) {
    struct state in;
    ground_fill(&in, 1);
    for (uint8_t reg = 0; reg < REGISTERS; reg++) {
        const uint64_t value = 0xabcdef00 + reg;
        struct predicate_test t = test_of(reg, WORD_BYTES * 8, false, TEST_EQUAL, value);
        if (reg == SP_NUMBER)
            continue;
        set_register(&in, reg, value);
        expect(holds(&t, &in), "a register with its value");
        set_register(&in, reg, value + 1);
        expect(!holds(&t, &in), "a register with another value");
    }
    struct predicate_test t = test_of(SP_NUMBER, WORD_BYTES * 8, false, TEST_EQUAL, sp_of(&in));
    expect(holds(&t, &in), "the stack pointer");
    t.constant++;
    expect(!holds(&t, &in), "another stack pointer");
}

/* ---- pointers ---- */

static void write_word(uint64_t at, uint64_t value) { memcpy(pointer(at), &value, WORD_BYTES); }

/* The word of SIZE bytes at three pointers' end, the last of which is LAST. */
static struct predicate_test chain(struct state *in, uint64_t last, unsigned size) {
    struct predicate_test t = test_of(1, size * 8, false, TEST_UNEQUAL, 0x77);
    ground_fill(in, 1);
    t.value.steps = 3;
    t.value.bytes = 16;
    t.value.step[0].offset = -8;
    t.value.step[1].offset = 16;
    t.size = (uint8_t)size;
    set_register(in, 1, GROUND_DATA + 16);
    write_word(GROUND_DATA + 8, GROUND_DATA + 32);
    write_word(GROUND_DATA + 48, last);
    return t;
}

static void check_chains(void) {
    for (unsigned size = 1; size <= 8; size *= 2) {
        const uint64_t value = 0x8877665544332211;
        struct state in;
        struct predicate_test t = chain(&in, GROUND_DATA + 96, size);
        memcpy(pointer(GROUND_DATA + 96), &value, 8);
        t.op = TEST_EQUAL;
        t.constant = number_of(value, t.bits, false);
        expect(holds(&t, &in), "a value behind pointers");
        t.constant ^= 1;
        expect(!holds(&t, &in), "another value behind pointers");
    }
}

static void check_wild(uint64_t address, bool read) {
    for (unsigned size = 1; size <= 8; size *= 2)
        for (int early = 0; early < 2; early++) {
            struct state in;
            struct predicate_test t = chain(&in, address, size);
            if (early)
                write_word(GROUND_DATA + 8, address);
            const uint64_t before = faults;
            expect(!holds(&t, &in), "a value that cannot be read");
            expect((faults != before) == read, "a read by a wild pointer");
        }
}

static void check_without_tool(void) {
    struct state in;
    struct predicate_test t = chain(&in, GROUND_DATA + 96, 4);
    expect(holds(&t, &in), "a good pointer");
    control.owner = CONTROL_OWNER_DIED;
    expect(!holds(&t, &in), "nothing read without a tool");
    control.owner = 0;
}

static void check_withdrawn(void) {
    struct state in;
    struct predicate_test t = chain(&in, GROUND_DATA + 96, 4);
    const struct predicate p = {&t, 1};
    uint8_t byte;
    clear();
    write_entry(&p);
    const uint32_t at = read_switch(parts[0].size, &byte);
    expect(at > capture_at(STUB_JUDGE) && at < parts[0].size, "a switch of the read");
    code[at] = byte;
    put_code(code, code_bytes);
    expect(!run_site(&in), "a withdrawn read");
}

/* (a && b) || c */
static void check_leads(void) {
    struct predicate_test tests[] = {test_of(2, 32, true, TEST_MORE, 5),
                                     test_of(1, 32, true, TEST_MORE, 5),
                                     test_of(0, 32, true, TEST_MORE, 5)};
    const struct predicate p = {tests, 3};
    tests[1].on_false = tests[2].on_false = 0;
    tests[2].on_true = 1;
    for (unsigned i = 0; i < 8; i++) {
        struct state in;
        clear();
        ground_fill(&in, i);
        for (unsigned k = 0; k < 3; k++)
            set_register(&in, k, i >> k & 1 ? 6 : 5);
        expect(run_entry(&p, &in) == ((i & 3) == 3 || i & 4), "(a && b) || c");
    }
}

/* The longest predicates have no code, and none is too long. */
static void check_longest(void) {
    struct predicate_test tests[PREDICATE_MOST_TESTS];
    for (int i = 0; i < PREDICATE_MOST_TESTS; i++) {
        tests[i] = test_of(1, 64, true, TEST_MORE, 0x123456789abcdef);
        tests[i].masked = true;
        tests[i].mask = 0xfedcba9876543210;
        tests[i].value.steps = CAPTURE_MOST_STEPS;
        tests[i].value.bytes = 8;
        for (int k = 0; k < CAPTURE_MOST_STEPS; k++)
            tests[i].value.step[k].offset = -70000;
        tests[i].on_false = (int8_t)(i - 1);
    }
    uint32_t before = 0;
    for (size_t n = 1; n <= PREDICATE_MOST_TESTS; n++) {
        const struct predicate p = {tests, n};
        const uint32_t bytes = judge_bytes(JUDGED_ENTRY, &p);
        expect(bytes ? bytes > before && bytes <= STUB_CAPTURE_BYTES : n > 6, "a long predicate");
        before = bytes;
        if (!bytes)
            break;
    }
}

/* ---- calls that are kept ---- */

static struct predicate_test is_77;
static const struct predicate of_77 = {&is_77, 1};

static bool enter(struct state *in, bool yes) {
    ground_fill(in, 1);
    set_register(in, 1, yes ? 77 : 78);
    return run_entry(&of_77, in);
}

static bool leave(struct state *in) {
    ground_fill(in, 2);
    return run_exit(in);
}

static void check_calls(void) {
    struct state in;
    clear();
    expect(!leave(&in), "an exit without an entry");
    expect(enter(&in, true), "an entry");
    expect(enter(&in, true), "an entry whose call was unwound");
    expect(kept()->count == 1, "one call");
    expect((WORD_BYTES == 8 ? kept()->newest : (uint32_t)kept()->newest) ==
               (WORD_BYTES == 8 ? ~sp_of(&in) : (uint32_t)~sp_of(&in)),
           "the newest call");
    expect(enter(&in, false), "what shows that a call is over");
    expect(leave(&in), "its exit");
    expect(kept()->count == 0, "no call");
    expect(!enter(&in, false) && !leave(&in), "what does not meet the condition");
    kept()->sets[3][2] = GROUND_STACK + 0x10000; /* another call, far above */
    kept()->count = 1;
    expect(!enter(&in, false) && !leave(&in), "a call below");
    expect(enter(&in, true) && leave(&in), "a kept call below");
    expect(kept()->count == 1, "the other call");
}

static void check_pops(uint16_t pops) {
    struct state in;
    clear();
    expect(enter(&in, true), "an entry");
    ground_fill(&in, 2);
    set_register(&in, SP_NUMBER, sp_of(&in) - pops);
    write_exit(pops);
    expect(run_site(&in), "an exit with a frame");
    expect(kept()->count == 0, "no call");
}

/* An entry above a call that was kept shows that it is over. */
static void check_left_by_exceptions(void) {
    for (int other = -64; other <= 64; other += 64) {
        struct state in;
        clear();
        expect(!enter(&in, false), "no event");
        kept()->newest = (uint64_t) ~(int64_t)((int64_t)sp_of(&in) + other) &
                         (WORD_BYTES == 8 ? UINT64_MAX : UINT32_MAX);
        kept()->sets[0][0] = sp_of(&in) + 1024;
        kept()->count = 1;
        const bool shows = other < 0;
        expect(enter(&in, false) == shows && leave(&in) == shows, "a call that is over");
        expect(!enter(&in, false) && !leave(&in), "a call that was over before");
    }
}

static void check_open_before(void) {
    struct state in;
    for (int below = -16; below <= 16; below += 16) {
        clear();
        expect(!leave(&in), "no event");
        kept()->count = 1;
        kept()->from = ~(sp_of(&in) + (uint64_t)(int64_t)below);
        expect(leave(&in) == (below <= 0), "an exit of a call open before");
        expect(enter(&in, false) == (below <= 0), "an entry above it");
        expect(leave(&in) == (below <= 0) && kept()->count == 1, "its exit");
    }
    kept()->from = UINT64_MAX;
    expect(enter(&in, false) && leave(&in), "all calls");
    kept()->from = 0;
    expect(!enter(&in, false) && !leave(&in), "no calls");
}

static void check_full(void) {
    struct state in;
    for (unsigned used = 0; used <= KEPT_WAYS; used++) {
        clear();
        for (unsigned i = 0; i < KEPT_SETS * used; i++)
            kept()->sets[i % KEPT_SETS][i / KEPT_SETS] = 0x7f000000 + 16 * i;
        kept()->count = (uint64_t)used * KEPT_SETS;
        kept()->newest = (uint32_t)~0x7fffff00U;
        const bool full = used == KEPT_WAYS;
        expect(enter(&in, true) && kept()->full == full, "a set with room, or without");
        expect(leave(&in), "an exit");
        expect(enter(&in, true) && leave(&in), "one more call");
        expect(kept()->count == (uint64_t)used * KEPT_SETS + full, "the count");
        expect(enter(&in, false) == full && leave(&in) == full, "all calls, or not");
    }
}

/* ---- interruptions ---- */

static unsigned kept_here(void) {
    unsigned n = 0;
    for (int i = 0; i < KEPT_SETS * KEPT_WAYS; i++)
        n += kept()->sets[i / KEPT_WAYS][i % KEPT_WAYS] != 0;
    return n;
}

/* The stub at OFFSET. */
static const struct site_stub *part_at(uint32_t offset) {
    const struct site_stub *p = parts;
    while (p + 1 < parts + part_count && p[1].at <= offset)
        p++;
    return p;
}

/* The state of a thread at OFFSET, as patch/settle.c finds it. */
static bool stub_state_at(uint32_t offset, struct stub_state *ret) {
    const struct site_stub *p = part_at(offset);
    const uint32_t more = p->size - plain_bytes(p->variant), at = capture_at(p->variant);
    offset -= p->at;
    if (stub_judges(p->variant) && offset > at)
        offset = offset < at + more ? at : offset - more;
    return state_at(p->variant, offset, ret);
}

/* Another call is open; IS_KEPT: so is the one whose exit comes. */
static void open_calls(bool is_kept) {
    kept()->sets[0][0] = GROUND_STACK + 4096;
    kept()->count = 1 + is_kept;
    kept()->newest = (uint32_t)~GROUND_STACK;
    if (is_kept)
        kept()->sets[(GROUND_STACK ^ GROUND_STACK >> 6) >> 4 & (KEPT_SETS - 1)][1] = GROUND_STACK;
}

/* Stops the thread before each instruction that it comes to in the stubs that judge a call.
 * IS_KEPT: there is an event. */
static void check_stops(bool entry, bool is_kept) {
    const unsigned before = stops;
    uint8_t whole[sizeof code];
    struct state in;
    memcpy(whole, code, code_bytes);
    for (uint32_t at = 0; at < code_bytes; at += insn_bytes(at)) {
        if (!stub_judges(part_at(at)->variant)) /* ordinary stubs have tests of their own */
            continue;
        clear();
        ground_fill(&in, 1);
        set_register(&in, 1, is_kept ? 77 : 78);
        open_calls(is_kept && !entry);
        break_at(at);
        expect(run_site(&in) == is_kept, "an event of a thread that was stopped");
        put_code(whole, code_bytes);
        const unsigned left = 1 + (entry && is_kept);
        expect(kept_here() == left && kept()->count >= left, "the calls of a stopped thread");
    }
    expect(stops - before > 30, "stops");
}

static void check_interruptions(void) {
    for (int is_kept = 0; is_kept < 2; is_kept++) {
        write_entry(&of_77);
        check_stops(true, is_kept);
        write_exit(0);
        check_stops(false, is_kept);
    }
}

static void check_states(void) {
    struct stub_state s;
    unsigned whole = 0;
    expect(state_at(STUB_JUDGE, capture_at(STUB_JUDGE), &s) && s.pushed, "the state in the code");
    for (uint32_t i = 0; i < plain_bytes(STUB_JUDGE); i++)
        if (state_at(STUB_JUDGE, i, &s)) {
            expect(!s.reserved && !s.committed && !s.unsure, "nothing committed");
            whole += !s.pushed;
        }
    expect(whole >= 2, "the start, and the jump in the middle");
}

static void check_judges(unsigned comparisons) {
    is_77 = test_of(1, 32, true, TEST_EQUAL, 77);
    check_comparisons(comparisons);
    check_registers();
    check_chains();
    check_wild(8, false);
    check_wild(4095 - 16, false);
    check_wild(HOLE, true);
    check_without_tool();
    check_withdrawn();
    check_leads();
    check_longest();
    check_calls();
    check_pops(16);
    check_pops(64);
    check_left_by_exceptions();
    check_open_before();
    check_full();
    check_interruptions();
    check_states();
}

/*
 * Stubs of A64 with captures, with the agent itself. They write the values that values/run.c finds
 * by the same registers and memory, for captures at random. They change no register, no flag, and
 * no memory above the stack pointer. Reads that fault are passed, and withdrawn, as by the tool.
 */
#include <pthread.h>

#include "arch/aarch64/reading.h"
#include "values/run.h"
#include "values/slots.h"

enum { RING = 16384 };
#include "stub_setup.h"

enum { SITE = 0x12345674, NUMBER = 77, DONE = 0, VALUES = 8, SEEDS = 1000 };
enum { SP = 31, TAG_AT = 56 };

static uint64_t random_state, faults;
static size_t stub_size;
static const int16_t NO_LENGTH = -1;

static uint64_t any(uint64_t below) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

/* As withdraw() in patch/value_faults.c. AT: the read, or what follows its value. */
static void withdraw(uint32_t at) {
    uint8_t byte;
    const uint32_t found = a64_read_switch(pointer(STUB), at, &byte);
    if (!found)
        ground_fail("a read", at, "cannot be withdrawn");
    else if (*(uint8_t *)pointer(STUB + found) == byte)
        ground_fail("a read", at, "was withdrawn, and is made");
    else
        ground_write_bytes(STUB + found, &byte, 1);
}

/* As value_fault_pass() of the tool, which withdraws the first read that faults. */
static void pass_fault(int signal, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    const struct arm_agent_labels agent = arm_agent_labels();
    const uint64_t at = m->pc - LANES, back = m->regs[0] - STUB;
    const bool in_text = at >= agent.text && at < agent.captures_end;
    (void)signal, (void)info;
    if ((!in_text && m->pc - STUB >= stub_size) || back >= stub_size)
        abort();
    withdraw((uint32_t)(in_text ? back : m->pc - STUB));
    m->pc = m->regs[0];
    faults++;
}

/* ---- what is captured ---- */

/* An address of data: mostly a good one. Memory ends at HOLE. */
static uint64_t some_address(void) {
    static const uint64_t wrong[] = {0,    8,        4095,       1ull << 63,    UINT64_MAX,
                                     HOLE, HOLE - 3, 1ull << 52, 0x123456789000};
    if (any(8) == 0)
        return wrong[any(sizeof wrong / sizeof *wrong)];
    uint64_t at = any(3) ? GROUND_DATA + any(GROUND_PART / 2) : HOLE - 1 - any(24);
    return any(3) ? at : at | any(256) << TAG_AT;
}

static void fill_memory(struct state *in, uint64_t seed) {
    ground_fill(in, seed);
    for (uint64_t at = GROUND_DATA; at < GROUND_DATA + GROUND_PART; at += 8) {
        const uint64_t word = some_address();
        if (any(3) == 0)
            memcpy(pointer(at), &word, sizeof word);
    }
    for (uint64_t at = HOLE - 64; at < HOLE; at++)
        *(uint8_t *)pointer(at) = (uint8_t)any(256);
    for (int i = 0; i < 40; i++)
        memset(pointer(GROUND_DATA + any(GROUND_PART - 4)), 0, 1 + any(4));
    for (int i = 0; i < 31; i++)
        if (any(2))
            in->x[i] = any(4) ? some_address() : any(20) | any(2) << 40;
    for (uint64_t at = 0; at < GROUND_PART; at += 8) {
        const uint64_t word = some_address();
        if (any(3) == 0)
            memcpy(pointer(GROUND_STACK + at), &word, sizeof word);
    }
}

static void some_begin(struct capture_value *v) {
    static const enum capture_from kinds[] = {FROM_REGISTER, FROM_REGISTER, FROM_VECTOR, FROM_STACK,
                                              FROM_STACK_ADDRESS};
    v->from = kinds[any(5)];
    v->reg = (uint8_t)any(32);
    v->part = v->from == FROM_VECTOR ? (uint8_t)(8 * any(2)) : 0;
    v->stack_offset = v->from == FROM_STACK ? 8 * (int32_t)any(12) : (int32_t)any(9000) - 4500;
}

static struct capture_value some_value(const struct capture_value *before, size_t count) {
    struct capture_value v = {.length_of = NO_LENGTH, .steps = (uint8_t)any(4)};
    some_begin(&v);
    if (v.from == FROM_REGISTER && v.steps && any(4) == 0) {
        v.from = FROM_INDEXED;
        v.part = capture_index((uint8_t)any(32), (uint8_t)any(4));
    }
    for (int i = 0; i < v.steps; i++)
        v.step[i].offset = any(5) ? (int32_t)any(64) : -(int32_t)any(70000);
    if (any(3) == 0) {
        v.string = true;
        v.unit = (uint8_t)(1 << any(3));
        v.most = (uint16_t)(v.unit * (1 + any(20)));
        const size_t counted = count ? any(count) : 0;
        if (count && any(2) && !before[counted].string && !before[counted].address_only &&
            before[counted].bytes <= 8)
            v.length_of = (int16_t)counted;
        return v;
    }
    v.address_only = v.steps && any(4) == 0;
    v.bytes = (uint16_t)(1 + any(8));
    if ((v.steps && !v.address_only) || (v.from == FROM_STACK && !v.steps))
        v.bytes = (uint16_t)(1 + any(CAPTURE_MOST_BYTES));
    return v;
}

/* ---- what values/run.c finds ---- */

static uint64_t general(const struct state *s, uint8_t reg) {
    return reg == SP ? s->sp : s->x[reg];
}

static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    const struct state *s = ctx;
    if (v->from == FROM_VECTOR)
        memcpy(ret, (const uint8_t *)s->q[v->reg] + v->part, size);
    else if (v->from == FROM_INDEXED)
        memcpy(ret,
               &(uint64_t){general(s, v->reg) +
                           (general(s, capture_index_register(v)) << capture_index_shift(v))},
               size);
    else
        memcpy(ret, &(uint64_t){general(s, v->reg)}, size);
    return true;
}

/* Of memory that stub or program change, or that the program has elsewhere, nothing is expected. */
static bool reads_other_memory;

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    const uint64_t at = address & ((UINT64_C(1) << TAG_AT) - 1);
    (void)ctx;
    reads_other_memory |= (at + size > GROUND_STACK - GROUND_PART && at < GROUND_STACK) ||
                          (at >= PAGE && at < GROUND);
    if (at < GROUND || at + size > GROUND + GROUND_BYTES || (at + size > HOLE && at < HOLE + PAGE))
        return false;
    memcpy(ret, pointer(at), size);
    return true;
}

/* ---- what the stub has written ---- */

static const struct event *slot(uint64_t at) { return pointer(LANE + LANE_RING + at % RING); }

static bool find_word(uint64_t from, uint32_t number, uint64_t *ret) {
    bool found = false;
    for (uint64_t at = from; at < lane()->head; at += EVENT_BYTES) {
        const uint32_t id = slot(at)->site >> 2;
        const uint64_t value = event_sp(slot(at));
        if (id == CAPTURE_WORD + number) {
            *ret = (uint64_t)((int64_t)(value << 16) >> 16);
            found = true;
        } else if (id == CAPTURE_HIGH + number && found) {
            *ret = (*ret & EVENT_CLOCK_MASK) | value << 48;
        }
    }
    return found;
}

static bool is_zero(const uint8_t *p, unsigned unit) {
    static const uint8_t zeros[4];
    return memcmp(p, zeros, unit) == 0;
}

static void check_text(uint64_t from, uint32_t number, const struct capture_value *v,
                       const struct captured *c) {
    uint8_t bytes[256] = {0};
    const unsigned size = capture_text_word(v);
    unsigned n = 0, length = 0;
    uint64_t word;
    bool ends = v->length_of >= 0;
    for (uint32_t i = 0; i < capture_value_words(v) && find_word(from, number + i, &word);
         i++, n += size)
        memcpy(bytes + n, &word, size);
    for (; !ends && length < n && length <= v->most; length += v->unit)
        if (is_zero(bytes + length, v->unit)) {
            ends = true;
            break;
        }
    length = length < v->most ? length : v->most;
    if (c->missing) {
        if (v->length_of < 0 && (ends || n >= v->most))
            ground_fail("a text", number, "is there, but cannot be read");
        return;
    }
    if (n < c->length || memcmp(bytes, c->bytes, c->length) != 0)
        ground_fail("a text", number, "has other bytes");
    if (v->length_of < 0 && (length != c->length || ends == c->cut))
        ground_fail("a text", number, "has another end");
    if (n > (v->length_of < 0 ? capture_text_bytes(v) : c->length) + size - 1)
        ground_fail("a text", number, "is too long");
}

static void check_words(uint64_t from, uint32_t number, const struct capture_value *v,
                        const struct captured *c) {
    for (unsigned done = 0; done < v->bytes; done += 8) {
        const unsigned size = v->bytes - done < 8 ? v->bytes - done : 8;
        uint64_t word = 0;
        const bool found = find_word(from, number + done / 8, &word);
        if (c->missing) /* its beginning may be there */
            continue;
        if (!found)
            ground_fail("a value", number, "is missing");
        else if (memcmp(&word, c->bytes + done, size) != 0)
            ground_fail("a value", number, "has other bytes");
    }
    uint64_t last;
    if (c->missing && find_word(from, number + (v->bytes - 1) / 8, &last))
        ground_fail("a value", number, "is there, but cannot be read");
}

static void check_slots(uint64_t from, const struct capture *c, const struct state *in) {
    const struct event *event = slot(lane()->head - EVENT_BYTES);
    if (slot(from)->site >> 2 != CAPTURE_BEGIN || event_sp(slot(from)) != NUMBER)
        ground_fail("a capture", slot(from)->site, "does not begin");
    if (event->site != SITE || event_sp(event) != in->sp)
        ground_fail("a capture", event->site, "has no event");
    if (lane()->head - from > capture_slots(c) * EVENT_BYTES)
        ground_fail("a capture", 0, "takes more than it said");
    for (uint64_t at = from; at < lane()->head; at += EVENT_BYTES)
        if (slot(at)->clock_sp >> 16 != event->clock_sp >> 16)
            ground_fail("a capture", slot(at)->site, "has several clocks");
}

/* ---- runs ---- */

static void write_stub(uint8_t variant, enum overflow overflow, uint16_t pops,
                       const struct capture *c) {
    uint8_t code[STUB_MAX_BYTES + STUB_CAPTURE_BYTES];
    const struct stub_spec spec = {.variant = variant | STUB_CAPTURE,
                                   .site = SITE,
                                   .ring_bytes = RING,
                                   .overflow = overflow,
                                   .agent = (int64_t)AGENT - STUB,
                                   .caller = {0, INT32_MAX},
                                   .pops = pops,
                                   .capture = c,
                                   .capture_number = NUMBER};
    stub_size = a64_stub_emit(code, &spec);
    if (stub_size != a64_stub_size(spec.variant, overflow) + a64_stub_capture_bytes(c))
        ground_fail("a stub", overflow, "has another size");
    ground_write_bytes(STUB, code, stub_size);
    ground_write_jump(STUB + stub_size, ground_arrival(DONE));
    ground_lead(STUB);
}

static void run_unchanged(const struct state *in) {
    uint8_t before[GROUND_PART];
    struct state out, expected = *in;
    memcpy(before, pointer(GROUND_STACK), sizeof before);
    ground_run(in, &out);
    expected.arrived = DONE;
    ground_compare("a stub", (uint32_t)random_state, &expected, &out);
    if (memcmp(before, pointer(GROUND_STACK), sizeof before) != 0)
        ground_fail("a stub", 0, "writes above the stack pointer");
}

static void check_values(const struct capture *c, uint64_t head, struct state *in, uint16_t pops) {
    struct captured results[VALUES];
    uint8_t *store;
    uint32_t number = 0;
    const struct capture_source source = {in, 8, in->sp + pops, read_register, read_memory};
    reads_other_memory = false;
    capture_run(c, &source, results, &store);
    for (size_t i = 0; i < c->count && !reads_other_memory;
         number += capture_value_words(&c->values[i++]))
        (c->values[i].string ? check_text : check_words)(head, number, &c->values[i], &results[i]);
    free(store);
}

/* Reads that have faulted are withdrawn; the others are still made. */
static void check_again(const struct capture *c, uint64_t head, struct state *in, uint16_t pops) {
    const uint64_t before = faults;
    write_lane(head, head + RING, true);
    run_unchanged(in);
    check_slots(head, c, in);
    check_values(c, head, in, pops);
    if (faults != before)
        ground_fail("a read", (uint32_t)random_state, "faults again");
}

static void check_random(uint64_t seed) {
    struct capture_value values[VALUES];
    struct state in;
    random_state = seed;
    struct capture c = {.values = values, .count = 1 + any(VALUES)};
    for (size_t i = 0; i < c.count; i++)
        values[i] = some_value(values, i);
    const enum overflow overflow = (enum overflow)any(OVERFLOW_OVERWRITE + 1);
    const uint16_t pops = (uint16_t)(16 * any(4));
    const uint64_t head = any(2) ? 0x123450 : RING - 48;
    if (!a64_stub_capture_bytes(&c))
        return;
    const uint64_t before = faults;
    fill_memory(&in, seed);
    in.x[30] = any(1000);
    write_lane(head, head + RING, true);
    write_stub(any(2) ? STUB_CALLER : STUB_SAVE_FLAGS, overflow, pops, &c);
    run_unchanged(&in);
    check_slots(head, &c, &in);
    check_values(&c, head, &in, pops);
    if (lane()->slice_slots !=
        (overflow == OVERFLOW_OVERWRITE ? (lane()->head - head) / EVENT_BYTES - 1 : 0))
        ground_fail("a stub", (uint32_t)seed, "counts its slots wrongly");
    if (faults != before && !reads_other_memory)
        check_again(&c, head, &in, pops);
}

/* ---- particular cases ---- */

static const struct capture *one_word(void) {
    static struct capture_value v = {.from = FROM_REGISTER, .reg = 3, .bytes = 8, .length_of = -1};
    static const struct capture c = {.values = &v, .count = 1};
    return &c;
}

/* Behind the tool's death nothing is read by a pointer. */
static void check_without_tool(void) {
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .reg = 1, .string = true, .unit = 1, .most = 11, .length_of = -1},
        {.from = FROM_REGISTER, .reg = 1, .bytes = 8, .length_of = -1}};
    const struct capture c = {.values = values, .count = 2};
    struct state in;
    uint64_t word = 0;
    ground_fill(&in, 1);
    in.x[1] = GROUND_DATA;
    write_lane(0, RING, true);
    write_stub(0, OVERFLOW_WAIT, 0, &c);
    control.owner = CONTROL_OWNER_DIED;
    run_unchanged(&in);
    control.owner = 0;
    if (find_word(0, 0, &word) || !find_word(0, 2, &word) || word != GROUND_DATA)
        ground_fail("a stub without a tool", 0, "reads memory, or not the register");
}

/* Each of two reads, withdrawn, is not made by a good pointer either; the other one is. */
static void check_withdrawn(bool second) {
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .reg = 1, .string = true, .unit = 1, .most = 5, .length_of = -1},
        {.from = FROM_REGISTER, .reg = 2, .bytes = 8, .steps = 1, .length_of = -1}};
    const struct capture c = {.values = values, .count = 2};
    uint32_t at[2];
    uint8_t byte;
    struct state in;
    uint64_t word;
    ground_fill(&in, 1);
    in.x[1] = in.x[2] = GROUND_DATA;
    write_lane(0, RING, true);
    write_stub(0, OVERFLOW_WAIT, 0, &c);
    at[1] = a64_read_switch(pointer(STUB), (uint32_t)stub_size, &byte);
    at[0] = a64_read_switch(pointer(STUB), at[1], &byte);
    if (!at[0] || a64_read_switch(pointer(STUB), at[0], &byte))
        ground_fail("reads", at[0], "are not two");
    ground_write_bytes(STUB + at[second], &byte, 1);
    run_unchanged(&in);
    if (find_word(0, 0, &word) != second || find_word(0, 1, &word) == second)
        ground_fail("a withdrawn read", second, "is made, or another one is not");
}

/* The upper part of a register that holds a narrow argument is not its. */
static void check_narrow_length(uint16_t bytes) {
    enum { LENGTH = 12, WORDS = 2 };
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .reg = 1, .bytes = bytes, .length_of = -1},
        {.from = FROM_REGISTER, .reg = 2, .string = true, .unit = 1, .most = 18}};
    const struct capture c = {.values = values, .count = 2};
    struct state in;
    uint64_t word;
    ground_fill(&in, 1);
    in.x[1] = UINT64_MAX << 8 * bytes | LENGTH;
    in.x[2] = GROUND_DATA;
    write_lane(0, RING, true);
    write_stub(0, OVERFLOW_WAIT, 0, &c);
    run_unchanged(&in);
    if (!find_word(0, WORDS, &word) || find_word(0, WORDS + 1, &word))
        ground_fail("a text with a narrow length", bytes, "has another length");
}

static void *make_room(void *unused) {
    while (!__atomic_load_n(&lane()->waits, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane()->limit, RING, __ATOMIC_RELEASE);
    return unused;
}

static void check_waiting(enum overflow overflow) {
    struct state in;
    pthread_t helper;
    uint64_t word = 0;
    ground_fill(&in, 1);
    write_lane(0, EVENT_BYTES, true);
    write_stub(0, overflow, 0, one_word());
    if (pthread_create(&helper, NULL, make_room, NULL))
        abort();
    run_unchanged(&in);
    pthread_join(helper, NULL);
    if (slot(0)->site >> 2 != WAIT_EVENT || lane()->waits != 1)
        ground_fail("a stub that waits", overflow, "does not tell it");
    if (!find_word(EVENT_BYTES, 0, &word) || word != in.x[3])
        ground_fail("a stub that waits", overflow, "writes another value");
}

/* Without room for values the event stands alone; without room for it, too, it is counted. */
static void check_dropping(uint64_t room) {
    struct state in;
    ground_fill(&in, 1);
    write_lane(64, 64 + room, true);
    write_stub(0, OVERFLOW_DROP, 0, one_word());
    run_unchanged(&in);
    if (lane()->head != 64 + (room ? EVENT_BYTES : 0) || lane()->lost != !room ||
        (room && slot(64)->site != SITE))
        ground_fail("a stub without room", (uint32_t)room, "writes or loses something else");
}

/* So a signal may come anywhere: the thread goes back to the site. */
static void check_states(uint8_t variant, enum overflow overflow) {
    const uint8_t all = variant | STUB_CAPTURE;
    const uint32_t size = a64_stub_size(all, overflow);
    const uint32_t pops = A64_CAPTURE_SAVED / 2 * 4;
    struct stub_state s;
    for (uint32_t at = 0; at < size; at += 4)
        if (!a64_stub_state(all, overflow, at, &s) || s.reserved || s.unsure ||
            s.committed != (at >= size - pops))
            ground_fail("a state", at, "tells something else");
    if (!a64_stub_state(all, overflow, a64_stub_capture_at(all, overflow), &s) ||
        s.pushed != A64_CAPTURE_SAVED || s.displaced)
        ground_fail("a state", all, "is another one where the capture begins");
}

int main(void) {
    ground_open();
    catch (SIGSEGV, pass_fault);
    munmap(pointer(HOLE), PAGE);
    ground_write_bytes(LANES, a64_agent_bytes, a64_agent_size);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        check_random(seed);
    if (!faults)
        ground_fail("reads", 0, "never fault");
    check_without_tool();
    check_withdrawn(false);
    check_withdrawn(true);
    for (uint16_t bytes = 1; bytes < 8; bytes *= 2)
        check_narrow_length(bytes);
    for (enum overflow o = OVERFLOW_WAIT; o <= OVERFLOW_OVERWRITE; o++) {
        check_states(0, o);
        check_states(STUB_CALLER, o);
        if (o != OVERFLOW_DROP)
            check_waiting(o);
    }
    for (uint64_t room = 0; room <= 2 * EVENT_BYTES; room += EVENT_BYTES)
        check_dropping(room);
    return ground_failures > 255 ? 255 : ground_failures;
}

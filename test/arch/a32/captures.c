/*
 * Stubs of A32 and T32 with captures, with the agent itself. They write the values that
 * values/run.c finds by the same registers and memory, for captures at random. They change no
 * register, no flag, and no memory above the stack pointer. Reads that fault are passed, and
 * withdrawn, as by the tool.
 */
#include <pthread.h>

#include "arch/regs.h"
#include "stub_setup.h"
#include "values/run.h"
#include "values/slots.h"

enum { HOLE = GROUND_DATA + 0x1000, PAGE = 0x1000, NUMBER = 77, VALUES = 8, ROUNDS = 500 };
enum { LAST = 0xffff0000, BACK_BIT = 1 };

static uint64_t random_state, faults;
static size_t stub_size;

static uint32_t any(uint32_t below) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) % below);
}

#include "withdraw.h"

/* As value_fault_pass() of the tool, which withdraws the first read that faults. */
static void pass_fault(int signal, siginfo_t *info, void *context) {
    mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
    const struct arm_agent_labels agent = arm_agent_labels();
    const uint32_t at = (uint32_t)m->arm_pc - LANES, back = (uint32_t)m->arm_r0 - stub_at;
    const bool in_text = at >= agent.text && at < agent.captures_end;
    (void)signal, (void)info;
    if ((!in_text && m->arm_pc - stub_at >= stub_size) || back >= stub_size ||
        (m->arm_r0 & BACK_BIT) != t32)
        abort();
    withdraw(in_text ? back & ~(uint32_t)BACK_BIT : (uint32_t)m->arm_pc - stub_at);
    m->arm_pc = m->arm_r0 & ~(unsigned long)BACK_BIT;
    m->arm_cpsr = (m->arm_cpsr & ~0x0600fc20UL) | (t32 ? 0x20 : 0);
    faults++;
}

/* ---- what is captured ---- */

/* An address of data: mostly a good one. Memory ends at HOLE. */
static uint32_t some_address(void) {
    static const uint32_t wrong[] = {0,    8,        4095,       LAST,       LAST - 1,  UINT32_MAX,
                                     HOLE, HOLE - 3, 0xfffffffc, 0xffff0fe0, 0x70000000};
    if (any(8) == 0)
        return wrong[any(sizeof wrong / sizeof *wrong)];
    return any(3) ? GROUND_DATA + any(GROUND_PART / 2) : HOLE - 1 - any(24);
}

static void fill_addresses(uint32_t from) {
    for (uint32_t at = from; at < from + GROUND_PART; at += 4) {
        const uint32_t word = some_address();
        if (any(3) == 0)
            memcpy(pointer(at), &word, sizeof word);
    }
}

static void fill_memory(struct state *in, uint64_t seed) {
    ground_fill(in, seed);
    fill_addresses(GROUND_DATA);
    for (uint32_t at = HOLE - 64; at < HOLE; at++)
        *(uint8_t *)pointer(at) = (uint8_t)any(256);
    for (int i = 0; i < 40; i++)
        memset(pointer(GROUND_DATA + any(GROUND_PART - 4)), 0, 1 + any(4));
    for (int i = 0; i < 8; i++)
        memset(pointer(HOLE - 64 + any(60)), 0, 1 + any(4));
    for (int i = 0; i < ARM_LR; i++)
        if (i != ARM_SP && any(2))
            in->r[i] = any(4) ? some_address() : any(20);
    fill_addresses(GROUND_STACK);
}

static void some_begin(struct capture_value *v) {
    static const enum capture_from kinds[] = {FROM_REGISTER, FROM_REGISTER, FROM_VECTOR, FROM_STACK,
                                              FROM_STACK_ADDRESS};
    v->from = kinds[any(5)];
    v->reg = (uint8_t)(v->from == FROM_VECTOR ? any(32) : any(ARM_LR + 1));
    v->part = v->from == FROM_VECTOR && v->reg < 16 ? (uint8_t)(4 * any(2)) : 0;
    v->stack_offset = v->from == FROM_STACK ? 4 * (int32_t)any(24) : (int32_t)any(9000) - 4500;
}

static bool can_count(const struct capture_value *v) {
    return !v->string && !v->address_only && v->bytes <= 8;
}

static struct capture_value some_value(const struct capture_value *before, uint32_t count) {
    struct capture_value v = {.length_of = -1, .steps = (uint8_t)any(4)};
    some_begin(&v);
    if (v.from == FROM_REGISTER && v.steps && any(4) == 0) {
        v.from = FROM_INDEXED;
        v.part = capture_index((uint8_t)any(ARM_LR + 1), (uint8_t)any(4));
    }
    for (int i = 0; i < v.steps; i++)
        v.step[i].offset = any(5) ? (int32_t)any(64) : -(int32_t)any(70000);
    if (any(3) == 0) {
        v.string = true;
        v.unit = (uint8_t)(1 << any(3));
        v.most = (uint16_t)(v.unit * (1 + any(20)));
        const uint32_t counted = count ? any(count) : 0;
        if (count && any(2) && can_count(&before[counted]))
            v.length_of = (int16_t)counted;
        return v;
    }
    v.address_only = v.steps && any(4) == 0;
    v.bytes = (uint16_t)(1 + any(v.part ? 4 : 8));
    if ((v.steps && !v.address_only) || (v.from == FROM_STACK && !v.steps))
        v.bytes = (uint16_t)(1 + any(CAPTURE_MOST_BYTES));
    return v;
}

/* ---- what values/run.c finds ---- */

/* A general register has four bytes, and zeros above them. */
static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    const struct state *s = ctx;
    const size_t own = v->from == FROM_VECTOR && !v->part ? 8 : 4;
    const uint8_t *from = v->from == FROM_VECTOR ? (const uint8_t *)&s->d[v->reg] + v->part
                                                 : (const uint8_t *)&s->r[v->reg];
    memset(ret, 0, size);
    memcpy(ret, from, size < own ? size : own);
    if (v->from == FROM_INDEXED) {
        const uint32_t sum =
            s->r[v->reg] + (s->r[capture_index_register(v)] << capture_index_shift(v));
        memcpy(ret, &sum, sizeof sum);
    }
    return true;
}

/* Of memory that stub or program change, or that the program has elsewhere, nothing is expected. */
static bool reads_other_memory;

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    (void)ctx;
    if (address >= LAST || address < PAGE)
        return false;
    reads_other_memory |= (address + size > GROUND_STACK - GROUND_PART && address < GROUND_STACK) ||
                          address < GROUND || address + size > GROUND + GROUND_BYTES;
    if (reads_other_memory || (address + size > HOLE && address < HOLE + PAGE))
        return false;
    memcpy(ret, pointer((uint32_t)address), size);
    return true;
}

/* ---- what the stub has written ---- */

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

static void check_slots(uint64_t from, const struct capture *c, uint32_t sp) {
    const struct event *event = slot(lane()->head - EVENT_BYTES);
    if (slot(from)->site >> 2 != CAPTURE_BEGIN || event_sp(slot(from)) != NUMBER)
        ground_fail("a capture", slot(from)->site, "does not begin");
    if (event->site != SITE || event_sp(event) != sp)
        ground_fail("a capture", event->site, "has no event");
    if (lane()->head - from > capture_slots(c) * EVENT_BYTES)
        ground_fail("a capture", 0, "takes more than it said");
    for (uint64_t at = from; at < lane()->head; at += EVENT_BYTES)
        if (slot(at)->clock_sp >> 16 != event->clock_sp >> 16 || !(event->clock_sp >> 16))
            ground_fail("a capture", slot(at)->site, "has several clocks");
}

/* ---- runs ---- */

static uint32_t code_bytes(const struct capture *c) {
    return t32 ? t32_stub_capture_bytes(c) : a32_stub_capture_bytes(c);
}

static void write_captures(struct stub_spec spec, const struct capture *c) {
    spec.variant |= STUB_CAPTURE;
    spec.site = SITE;
    spec.capture = c;
    spec.capture_number = NUMBER;
    stub_size = write_stub(spec);
    const uint32_t plain = t32 ? t32_stub_size(spec.variant, spec.overflow)
                               : a32_stub_size(spec.variant, spec.overflow);
    if (stub_size != plain + code_bytes(c))
        ground_fail("a stub", spec.overflow, "has another size");
}

static void run_unchanged(struct state *in) {
    uint8_t before[GROUND_PART];
    struct state out;
    memcpy(before, pointer(GROUND_STACK), sizeof before);
    ground_run(stub_at | t32, in, &out);
    in->arrived = DONE;
    ground_compare("a stub", (uint32_t)random_state, in, &out);
    if (memcmp(before, pointer(GROUND_STACK), sizeof before) != 0)
        ground_fail("a stub", 0, "writes above the stack pointer");
}

static void check_values(const struct capture *c, uint64_t head, struct state *in, uint16_t pops) {
    struct captured results[VALUES];
    uint8_t *store;
    uint32_t number = 0;
    const struct capture_source source = {in, ARM_WORD, in->r[ARM_SP] + pops, read_register,
                                          read_memory};
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
    write_lane(head, head + RING, 0);
    run_unchanged(in);
    check_slots(head, c, in->r[ARM_SP] + pops);
    check_values(c, head, in, pops);
    if (faults != before)
        ground_fail("a read", (uint32_t)random_state, "faults again");
}

static void check_random(uint64_t seed) {
    struct capture_value values[VALUES];
    struct state in;
    random_state = seed;
    struct capture c = {.values = values, .count = 1 + any(VALUES)};
    for (uint32_t i = 0; i < c.count; i++)
        values[i] = some_value(values, i);
    const enum overflow overflow = (enum overflow)any(OVERFLOW_OVERWRITE + 1);
    const uint16_t pops = (uint16_t)(4 * any(16));
    const uint64_t head = any(2) ? 0xffffff50 : RING - 48;
    if (!code_bytes(&c) || capture_slots(&c) * EVENT_BYTES > RING)
        return;
    const uint64_t before = faults;
    fill_memory(&in, seed);
    write_lane(head, head + RING, 0);
    write_captures((struct stub_spec){.overflow = overflow, .pops = pops}, &c);
    run_unchanged(&in);
    check_slots(head, &c, in.r[ARM_SP] + pops);
    check_values(&c, head, &in, pops);
    if (lane()->slice_slots !=
        (overflow == OVERFLOW_OVERWRITE ? (lane()->head - head) / EVENT_BYTES - 1 : 0))
        ground_fail("a stub", (uint32_t)seed, "counts its slots wrongly");
    if (faults != before && !reads_other_memory)
        check_again(&c, head, &in, pops);
}

/* ---- particular cases ---- */

static const struct capture *one_word(void) {
    static struct capture_value v = {.from = FROM_REGISTER, .reg = 3, .bytes = 4, .length_of = -1};
    static const struct capture c = {.values = &v, .count = 1};
    return &c;
}

/* Behind the tool's death nothing is read by a pointer. */
static void check_without_tool(void) {
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .reg = 1, .string = true, .unit = 1, .most = 11, .length_of = -1},
        {.from = FROM_REGISTER, .reg = 1, .bytes = 4, .length_of = -1}};
    const struct capture c = {.values = values, .count = 2};
    struct state in;
    uint64_t word = 0;
    ground_fill(&in, 1);
    in.r[1] = GROUND_DATA;
    write_lane(0, RING, 0);
    write_captures((struct stub_spec){0}, &c);
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
    in.r[1] = in.r[2] = GROUND_DATA;
    write_lane(0, RING, 0);
    write_captures((struct stub_spec){0}, &c);
    at[1] = read_switch((uint32_t)stub_size, &byte);
    at[0] = read_switch(at[1], &byte);
    if (!at[0] || read_switch(at[0], &byte))
        ground_fail("reads", at[0], "are not two");
    ground_write_bytes(stub_at + at[second], &byte, 1);
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
    in.r[1] = UINT32_MAX << 8 * bytes | LENGTH;
    in.r[2] = GROUND_DATA;
    write_lane(0, RING, 0);
    write_captures((struct stub_spec){0}, &c);
    run_unchanged(&in);
    if (!find_word(0, WORDS, &word) || find_word(0, WORDS + 1, &word))
        ground_fail("a text with a narrow length", bytes, "has another length");
}

/* No stub reads the last memory: an address there may be a number, and words go beyond the end. */
static void check_last_memory(uint32_t address, bool faulting) {
    struct capture_value v = {
        .from = FROM_REGISTER, .reg = 1, .bytes = 4, .steps = 1, .length_of = -1};
    const struct capture c = {.values = &v, .count = 1};
    const uint64_t before = faults;
    struct state in;
    uint64_t word;
    ground_fill(&in, 1);
    in.r[1] = address;
    write_lane(0, RING, 0);
    write_captures((struct stub_spec){0}, &c);
    run_unchanged(&in);
    if (find_word(0, 0, &word) || (faults != before) != faulting)
        ground_fail("a read of the last memory", address, "is made, or is not tried");
}

/* As callers elsewhere count no event, their values are not captured. */
static void check_caller(uint32_t address, bool counts) {
    struct state in;
    uint64_t word;
    write_lane(0, RING, 0);
    write_captures((struct stub_spec){.variant = STUB_CALLER, .pops = 12, .behind = 1}, one_word());
    ground_fill(&in, 1);
    *(uint32_t *)pointer(GROUND_STACK + 4) = address;
    run_unchanged(&in);
    expect_head("a caller", counts ? 3 * EVENT_BYTES : 0);
    if (counts && (!find_word(0, 0, &word) || (uint32_t)word != in.r[3]))
        ground_fail("a caller", address, "has another value");
}

static void *make_room(void *limit) {
    while (!__atomic_load_n(&lane()->waits, __ATOMIC_ACQUIRE))
        ;
    __atomic_store_n(&lane()->limit, *(uint64_t *)limit, __ATOMIC_RELEASE);
    return NULL;
}

/* There is just room for the wait's event and the capture. */
static void check_waiting(enum overflow overflow) {
    const uint64_t head = 0xfffffff0, begin = ticks();
    uint64_t limit = head + EVENT_BYTES + capture_slots(one_word()) * EVENT_BYTES;
    struct state in;
    pthread_t helper;
    uint64_t word = 0;
    ground_fill(&in, 1);
    write_lane(head, head + EVENT_BYTES, 0);
    write_captures((struct stub_spec){.overflow = overflow}, one_word());
    if (pthread_create(&helper, NULL, make_room, &limit))
        abort();
    run_unchanged(&in);
    pthread_join(helper, NULL);
    expect_wait(head, begin);
    if (!find_word(head + EVENT_BYTES, 0, &word) || (uint32_t)word != in.r[3])
        ground_fail("a stub that waits", overflow, "writes another value");
}

/* Without room for values the event stands alone; without room for it, too, it is counted. */
static void check_dropping(uint64_t room) {
    const uint64_t head = 0xfffffff0;
    struct state in;
    ground_fill(&in, 1);
    write_lane(head, head + room, 0);
    write_captures((struct stub_spec){.overflow = OVERFLOW_DROP}, one_word());
    run_unchanged(&in);
    expect_head("a stub without room", head + (room ? EVENT_BYTES : 0));
    if (lane()->lost != !room || (room && slot(head)->site != SITE))
        ground_fail("a stub without room", (uint32_t)room, "writes or loses something else");
}

/* Up to the event's commit a signal may come anywhere: the thread goes back to the site. */
static void check_states(uint8_t variant, enum overflow overflow) {
    const uint8_t all = variant | STUB_CAPTURE;
    const uint32_t at =
        t32 ? t32_stub_capture_at(all, overflow) : a32_stub_capture_at(all, overflow);
    struct stub_state s;
    const bool known =
        t32 ? t32_stub_state(all, overflow, at, &s) : a32_stub_state(all, overflow, at, &s);
    if (!known || s.pushed != STUB_MOST_PUSHED || !s.displaced || !s.skipped || s.unsure ||
        s.committed)
        ground_fail("a state", all, "is another one where the capture begins");
}

/* ---- stops ---- */

static const struct stub_spec *stopped; /* the stub in which a thread is stopped */
static uint32_t stop_at, stops;
static uint64_t stop_head;
static uint8_t stop_bytes[4];

/* The state of a thread at OFFSET, as patch/settle.c finds it. */
static bool state_at(uint32_t offset, struct stub_state *ret) {
    const struct stub_spec *s = stopped;
    const uint8_t all = s->variant | STUB_CAPTURE;
    const uint32_t more = code_bytes(s->capture);
    const uint32_t at =
        t32 ? t32_stub_capture_at(all, s->overflow) : a32_stub_capture_at(all, s->overflow);
    if (offset > at)
        offset = offset < at + more ? at : offset - more;
    return t32 ? t32_stub_state(all, s->overflow, offset, ret)
               : a32_stub_state(all, s->overflow, offset, ret);
}

/* The thread goes back to the site, or on behind the stub if the event is there. */
static void leave(mcontext_t *m) {
    unsigned long *const words = &m->arm_r0; /* up to arm_cpsr: 17 words */
    struct stub_state state;
    struct regs regs;
    uint64_t saved[STUB_MOST_PUSHED];
    if (!state_at(stop_at - stub_at, &state))
        abort();
    memcpy(regs.raw.uregs, words, 17 * sizeof *words);
    for (int i = 0; i < state.pushed; i++)
        saved[i] = ((uint32_t *)pointer((uint32_t)m->arm_sp))[i];
    state.committed |= state.unsure && regs_slot_is_reserved(&regs) && state.ahead;
    regs_leave_stub(&regs, stopped->variant | STUB_CAPTURE, &state, saved);
    regs_set_pc(&regs, stub_at + (state.committed ? stub_size : 0));
    regs_set_state(&regs, t32, 0);
    memcpy(words, regs.raw.uregs, 17 * sizeof *words);
    if (state.committed != (lane()->head != stop_head))
        ground_fail("a stop", stop_at, "repeats the event, or loses it");
}

/* The instruction at STOP_AT is an undefined one. */
static void stop(int sig, siginfo_t *info, void *frame) {
    mcontext_t *m = &((ucontext_t *)frame)->uc_mcontext;
    if (m->arm_pc != stop_at) {
        read_for(sig, info, frame);
        return;
    }
    ground_write_bytes(stop_at, stop_bytes, sizeof stop_bytes);
    stops++;
    leave(m);
    stop_at = 0; /* the counter may be read there, next */
}

static void check_stop(uint32_t offset, const struct capture *c) {
    static const uint8_t undefined[2][4] = {{0xf0, 0x00, 0xf0, 0xe7}, {0xfe, 0xde}};
    const uint64_t head = stop_head = 0xfffffff0;
    struct state in;
    ground_fill(&in, 1);
    in.r[1] = HOLE - 5;
    in.r[ARM_LR] = CALLER;
    write_lane(head, head + RING, 0);
    stop_at = stub_at + offset;
    memcpy(stop_bytes, pointer(stop_at), sizeof stop_bytes);
    ground_write_bytes(stop_at, undefined[t32], t32 ? 2 : 4);
    run_unchanged(&in);
    ground_write_bytes(stub_at + offset, stop_bytes, sizeof stop_bytes);
    check_slots(head, c, in.r[ARM_SP]);
    check_values(c, head, &in, 0);
}

/* A thread may be stopped before each instruction; it then makes the event once. */
static void check_stops(uint8_t variant, enum overflow overflow) {
    struct capture_value values[] = {
        {.from = FROM_REGISTER, .reg = 1, .string = true, .unit = 1, .most = 12, .length_of = -1},
        {.from = FROM_REGISTER, .reg = 1, .bytes = 12, .steps = 1, .length_of = -1},
        {.from = FROM_VECTOR, .reg = 1, .bytes = 8, .length_of = -1},
        {.from = FROM_REGISTER, .reg = 2, .bytes = 4, .length_of = -1},
        {.from = FROM_STACK, .bytes = 8, .length_of = -1}};
    const struct capture c = {.values = values, .count = sizeof values / sizeof *values};
    const struct stub_spec spec = {.variant = variant, .overflow = overflow, .capture = &c};
    const struct arch *arch = t32 ? &arch_t32 : &arch_a32;
    uint32_t before = stops, count = 0;
    write_captures(spec, &c);
    stopped = &spec;
    for (uint32_t at = 0; at < stub_size;) {
        struct insn in;
        if (!arch->decode(pointer(stub_at + at), stub_size - at, stub_at + at, &in, NULL))
            abort();
        check_stop(at, &c);
        at += in.size;
        count++;
    }
    if (stops - before < count / 2)
        ground_fail("stops", stops - before, "are few");
}

static void check_all(void) {
    write_agent(0);
    for (enum overflow o = OVERFLOW_WAIT; o <= OVERFLOW_OVERWRITE; o++)
        check_stops(o == OVERFLOW_WAIT ? STUB_CALLER : 0, o);
    for (uint64_t seed = 0; seed < ROUNDS; seed++)
        check_random(seed);
    check_without_tool();
    check_withdrawn(false);
    check_withdrawn(true);
    for (uint16_t bytes = 1; bytes < 4; bytes *= 2)
        check_narrow_length(bytes);
    check_last_memory(LAST, false);
    check_last_memory(UINT32_MAX, false);
    check_last_memory(PAGE - 1, false);
    check_last_memory(HOLE, true);
    check_caller(CALLER, true);
    check_caller(CALLER + CALLER_BYTES, false);
    for (enum overflow o = OVERFLOW_WAIT; o <= OVERFLOW_OVERWRITE; o++) {
        check_states(0, o);
        check_states(STUB_CALLER, o);
        if (o != OVERFLOW_DROP)
            check_waiting(o);
    }
    for (uint64_t room = 0; room <= 2 * EVENT_BYTES; room += EVENT_BYTES)
        check_dropping(room);
}

int main(void) {
    catch (SIGILL, stop);
    catch (SIGSEGV, pass_fault);
    ground_open();
    munmap(pointer(HOLE), PAGE);
    for (int i = 0; i < 3; i++, t32 = true, stub_at += i == 2 ? 2 : 0)
        check_all();
    if (!faults)
        ground_fail("reads", 0, "never fault");
    printf("%d failures of captures\n", ground_failures);
    return ground_failures != 0;
}

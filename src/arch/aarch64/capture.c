/* Writes the code of captures (capture.h). */
#include "arch/aarch64/capture.h"

#include "arch/aarch64/aarch64.h"
#include "arch/aarch64/branches.h"
#include "arch/capture.h"

enum {
    BACK = 0, /* registers: where the agent or, after a fault, the tool goes on */
    SLOT = 1,
    NUMBER = 2,
    LANE = 3,
    CLOCK = 4,
    HEAD = 5,
    WORD = 6,
    ADDRESS = 7,
    FREE = 8,
    FREE2 = 9,
    VALUE_MOST_BYTES = 1536, /* of the code of a value, at most */
    STACK_REACH = 1 << 23,   /* of a stack_offset */
    SIGN = 63,
    LOWEST_BITS = 12 /* no program has memory below 1 << LOWEST_BITS */
};

struct coder {
    const struct a64_capture_code *code;
    size_t size;
    size_t skips[64]; /* instructions that lead to the end of the value */
    size_t skip_count;
};

static void put(struct coder *c, uint32_t insn) {
    memcpy(c->code->out + c->size, &insn, sizeof insn);
    c->size += sizeof insn;
}

static uint32_t of(uint32_t insn, uint32_t rd, uint32_t rn, uint32_t rm) {
    return insn | rm << 16 | rn << 5 | rd;
}
static uint32_t load(uint32_t rt, uint32_t rn, uint32_t offset) { /* ldr xt, [xn, #offset] */
    return of(0xf9400000, rt, rn, 0) | offset / 8 << 10;
}
static uint32_t store(uint32_t rt, uint32_t rn, uint32_t offset) { /* str xt, [xn, #offset] */
    return of(0xf9000000, rt, rn, 0) | offset / 8 << 10;
}
static uint32_t add_constant(uint32_t rd, uint32_t rn, uint32_t value) {
    return of(0x91000000, rd, rn, 0) | value << 10;
}
static uint32_t add(uint32_t rd, uint32_t rn, uint32_t rm) { return of(0x8b000000, rd, rn, rm); }
static uint32_t sub(uint32_t rd, uint32_t rn, uint32_t rm) { return of(0xcb000000, rd, rn, rm); }
static uint32_t move(uint32_t rd, uint32_t rm) { return of(0xaa0003e0, rd, 0, rm); }
static uint32_t or_shifted(uint32_t rd, uint32_t rn, uint32_t rm, uint32_t left) {
    return of(0xaa000000, rd, rn, rm) | left << 10;
}
/* ubfx xd, xn, #from, #count */
static uint32_t bits(uint32_t rd, uint32_t rn, uint32_t from, uint32_t count) {
    return of(0xd3400000, rd, rn, 0) | from << 16 | (from + count - 1) << 10;
}
/* tbz of REG's sign bit, cbz, and cbnz, over the next COUNT instructions. */
static uint32_t skip_if_positive(uint32_t reg, uint32_t count) {
    return 0xb6000000 | (SIGN & 31) << 19 | (count + 1) << 5 | reg;
}
static uint32_t skip_if_zero(uint32_t reg, uint32_t count) {
    return 0xb4000000 | (count + 1) << 5 | reg;
}

/* Loads HALVES × 16 bits of VALUE by HALVES instructions. */
static void constant(struct coder *c, uint32_t reg, uint64_t value, unsigned halves) {
    for (uint32_t i = 0; i < halves; i++)
        put(c, (i ? 0xf2800000 : 0xd2800000) | i << 21 | (uint32_t)(value >> 16 * i & 0xffff) << 5 |
                   reg);
}

static uint32_t branch(uint32_t distance) { return 0x14000000 | (distance & 0x3ffffff); }

/* Sets the distance of the instruction at AT, of adr, b, cbz or tbz, to TO. */
static void set_distance(const struct coder *c, size_t at, int64_t to) {
    uint32_t insn = a64_word(c->code->out + at);
    const uint32_t distance = (uint32_t)(to - (int64_t)at) / A64_BYTES;
    const bool tests_bit = (insn & 0x7e000000) == 0x36000000;
    if (insn == branch(0))
        insn = branch(distance);
    else
        insn |= (distance & (tests_bit ? 0x3fff : 0x7ffff)) << 5;
    memcpy(c->code->out + at, &insn, sizeof insn);
}

/* INSN leads to the end of the present value. */
static void to_next(struct coder *c, uint32_t insn) {
    c->skips[c->skip_count++] = c->size;
    put(c, insn);
}
static uint32_t adr(uint32_t reg) { return 0x10000000 | reg; }

static void to_agent(struct coder *c, int64_t entry) {
    const int64_t distance = c->code->agent + entry - (int64_t)c->size;
    put(c, branch((uint32_t)(distance / A64_BYTES)));
}

/* ---- slots ---- */

/* Waits for room, or goes on without values. Returns where the way to the event begins, to be set
 * at the end of the code. */
static size_t reserve(struct coder *c) {
    const struct a64_capture_code *code = c->code;
    const bool waits = code->stub->overflow != OVERFLOW_DROP;
    const uint32_t size = capture_slots(code->stub->capture) * EVENT_BYTES;
    put(c, load(HEAD, LANE, LANE_HEAD));
    const size_t at = c->size;
    put(c, adr(BACK));
    if (waits)
        set_distance(c, at, code->retry);
    constant(c, NUMBER, waits ? size : code->commit_bytes, 2);
    constant(c, WORD, size, 2);
    put(c, add(WORD, HEAD, WORD));
    put(c, load(ADDRESS, LANE, LANE_LIMIT));
    put(c, sub(ADDRESS, ADDRESS, WORD));
    put(c, skip_if_positive(ADDRESS, 1));
    to_agent(c, waits ? A64_AGENT_ROOM : A64_AGENT_CRAMPED);
    return at;
}

/* Writes a slot with the lower half of the register LOW and the register HIGH as its upper part. */
static void put_slot(struct coder *c, uint32_t id, uint32_t low, uint32_t high) {
    const unsigned ring = (unsigned)__builtin_ctz(c->code->stub->ring_bytes);
    put(c, of(0x92400000, SLOT, HEAD, 0) | (ring - 1) << 10); /* and x1, x5, #ring-1 */
    put(c, add(SLOT, LANE, SLOT));
    put(c, add_constant(SLOT, SLOT, LANE_RING / A64_PAGE) | 1 << 22); /* add x1, x1, #RING */
    constant(c, NUMBER, id << 2 | EVENT_CONTROL, 2);
    put(c, of(0x29000000, NUMBER, SLOT, 0) | low << 10 | EVENT_SITE / 4 << 15); /* stp */
    put(c, store(high, SLOT, EVENT_CLOCK_SP));
    put(c, add_constant(HEAD, HEAD, EVENT_BYTES));
}

/* Writes the upper 16 bits of the word, if the lower 48 do not tell them. */
static void put_high(struct coder *c, uint32_t number) {
    put(c, of(0x93400000, FREE, WORD, 0) | 47 << 10); /* sbfx x8, x6, #0, #48 */
    put(c, sub(FREE, FREE, WORD));
    const size_t skip = c->size;
    put(c, skip_if_zero(FREE, 0) & ~(UINT32_C(0x7ffff) << 5));
    put(c, bits(FREE, WORD, 48, 16));
    put_slot(c, CAPTURE_HIGH + number, FREE, CLOCK);
    set_distance(c, skip, (int64_t)c->size);
}

static void put_word(void *ctx, unsigned size, uint32_t number) {
    struct coder *c = ctx;
    if (size > 4) {
        put(c, bits(FREE, WORD, 32, 16));
        put(c, or_shifted(FREE, FREE, CLOCK, 0));
    }
    put_slot(c, CAPTURE_WORD + number, WORD, size > 4 ? FREE : CLOCK);
    if (size > 6)
        put_high(c, number);
}

/* ---- where values begin ---- */

/* TO becomes the stack pointer at the function's entry plus OFFSET. */
static void stack_address(struct coder *c, uint32_t to, int64_t offset) {
    const int64_t at = c->code->frame + c->code->stub->pops + offset;
    const uint32_t far = (uint32_t)(at < 0 ? -at : at), down = at < 0 ? 1U << 30 : 0;
    put(c, (add_constant(to, A64_SP, far & 0xfff)) | down);
    put(c, (add_constant(to, to, far >> 12) | 1 << 22) | down);
}

/* The register with number REG in DWARF (AADWARF64, 4.1) as it was at the site. */
static void load_register(struct coder *c, uint32_t to, uint8_t reg) {
    if (reg < A64_CAPTURE_SAVED)
        put(c, load(to, A64_SP, reg * 8));
    else if (reg == A64_SP)
        put(c, add_constant(to, A64_SP, c->code->frame));
    else
        put(c, move(to, reg));
}

static void begin(void *ctx, const struct capture_value *v, unsigned part, bool address) {
    struct coder *c = ctx;
    const uint32_t to = address ? ADDRESS : WORD;
    const int64_t at = v->stack_offset + 8 * (int64_t)part;
    switch (v->from) {
    case FROM_REGISTER:
        load_register(c, to, v->reg);
        break;
    case FROM_VECTOR: /* fmov xd, dn; or of its upper half */
        put(c, of(v->part ? 0x9eae0000 : 0x9e660000, to, v->reg, 0));
        break;
    default:
        stack_address(c, to, at);
        if (v->from == FROM_STACK)
            put(c, load(to, to, 0));
    }
}

/* ---- memory ---- */

static void load_owner(struct coder *c) {
    put(c, load(FREE, LANE, LANE_CONTROL));
    put(c, of(0xb9400000, FREE, FREE, 0)); /* ldr w8, [x8] */
}

/* Distances of the `b` that decides, in instructions. */
enum { READS = 2, READS_NOT = 1 };

static void check_owner(void *ctx) {
    struct coder *c = ctx;
    enum { DIED = __builtin_ctz(CONTROL_OWNER_DIED) };
    load_owner(c);
    to_next(c, 0x37000000 | DIED << 19 | FREE); /* tbnz w8, #DIED, next */
    put(c, branch(READS));
    to_next(c, branch(0));
}

static void check_address(void *ctx) {
    struct coder *c = ctx;
    enum { USER_BITS = 52, TAG_AT = 56 };
    put(c, bits(FREE, ADDRESS, USER_BITS, TAG_AT - USER_BITS));
    to_next(c, 0xb5000000 | FREE); /* cbnz */
    put(c, bits(FREE, ADDRESS, LOWEST_BITS, TAG_AT - LOWEST_BITS));
    to_next(c, 0xb4000000 | FREE); /* cbz */
    to_next(c, adr(BACK));
}

static void add_offset(void *ctx, int32_t offset) {
    struct coder *c = ctx;
    const uint32_t far = offset < 0 ? -(uint32_t)offset : (uint32_t)offset;
    constant(c, FREE, far, 2);
    put(c, offset < 0 ? sub(ADDRESS, ADDRESS, FREE) : add(ADDRESS, ADDRESS, FREE));
}

static void follow(void *ctx) { put(ctx, load(ADDRESS, ADDRESS, 0)); }

/* Loads the SIZE bytes at the address + AT, a multiple of 8. */
static void load_bytes(void *ctx, unsigned size, unsigned at) {
    struct coder *c = ctx;
    static const uint32_t loads[] = {0x39400000, 0x79400000, 0xb9400000, 0xf9400000};
    const unsigned log = size == 8 ? 3 : size & 4 ? 2 : size & 2 ? 1 : 0;
    put(c, of(loads[log], WORD, ADDRESS, 0) | at >> log << 10);
    for (unsigned done = 1U << log; done < size; done++) { /* 3, 5, 6 and 7 bytes */
        put(c, of(loads[0], FREE, ADDRESS, 0) | (at + done) << 10);
        put(c, or_shifted(WORD, WORD, FREE, 8 * done));
    }
}

static void keep_address(void *ctx) { put(ctx, move(WORD, ADDRESS)); }

/* ---- texts ---- */

/* Where in the stub's frame the length with PLACE is. */
static uint32_t length_at(int place) { return 8 * (A64_CAPTURE_SAVED + (uint32_t)place); }

static void keep_length(void *ctx, unsigned size, int place) {
    put(ctx, bits(FREE, WORD, 0, 8 * size));
    put(ctx, store(FREE, A64_SP, length_at(place)));
}

/* The word becomes the length in bytes of a text that has its own. */
static void load_length(struct coder *c, const struct capture_value *v, int place) {
    enum { IS_LONG = 13 }; /* 1 << IS_LONG is more than any text has */
    put(c, load(WORD, A64_SP, length_at(place)));
    constant(c, FREE, v->most / v->unit, 1);
    put(c, bits(FREE2, WORD, IS_LONG, 64 - IS_LONG));
    put(c, skip_if_zero(FREE2, 1));
    put(c, move(WORD, FREE));
    put(c, sub(FREE2, FREE, WORD));
    put(c, skip_if_positive(FREE2, 1));
    put(c, move(WORD, FREE));
    const uint32_t left = v->unit / 2; /* lsl x6, x6, #left */
    put(c, of(0xd3400000, WORD, WORD, 0) | (-left & 63) << 16 | (63 - left) << 10);
    to_next(c, 0xb4000000 | WORD); /* cbz */
}

static void put_text(void *ctx, const struct capture_value *v, int place, uint32_t number) {
    struct coder *c = ctx;
    if (place >= 0)
        load_length(c, v, place);
    else
        constant(c, WORD, v->most, 1);
    constant(c, NUMBER, (CAPTURE_WORD + number) << 2 | EVENT_CONTROL, 2);
    to_agent(c, place >= 0     ? A64_AGENT_TEXT_COUNTED
                : v->unit == 4 ? A64_AGENT_TEXT_LONG
                : v->unit == 2 ? A64_AGENT_TEXT_WIDE
                               : A64_AGENT_TEXT);
}

static void end_value(void *ctx) {
    struct coder *c = ctx;
    for (size_t i = 0; i < c->skip_count; i++)
        set_distance(c, c->skips[i], (int64_t)c->size);
    c->skip_count = 0;
}

static const struct capture_machine machine = {
    begin,        check_owner, check_address, add_offset, follow,    load_bytes,
    keep_address, put_word,    keep_length,   put_text,   end_value,
};

static bool is_in_reach(const struct capture_value *v) {
    return v->stack_offset > -STACK_REACH && v->stack_offset < STACK_REACH;
}

size_t a64_capture_emit(const struct a64_capture_code *code) {
    struct coder c = {.code = code};
    const struct capture *capture = code->stub->capture;
    const int lengths = capture_lengths(capture);
    uint32_t number = 0;
    if (lengths > CAPTURE_MOST_LENGTHS)
        return 0;
    const size_t to_event = reserve(&c);
    constant(&c, FREE, code->stub->capture_number, 2);
    put_slot(&c, CAPTURE_BEGIN, FREE, CLOCK);
    for (int i = 0; i < lengths; i++)
        put(&c, store(A64_SP /* xzr */, A64_SP, length_at(i)));
    for (size_t i = 0; i < capture->count; i++) {
        if (c.size + VALUE_MOST_BYTES > STUB_CAPTURE_BYTES || !is_in_reach(&capture->values[i]))
            return 0;
        capture_put_value(&machine, &c, capture, i, number);
        number += capture_value_words(&capture->values[i]);
    }
    if (code->stub->overflow == OVERFLOW_DROP)
        set_distance(&c, to_event, (int64_t)c.size);
    return c.size;
}

uint32_t a64_capture_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    enum { LOADS = 2 * A64_BYTES, BRANCH_AT = LOADS + A64_BYTES };
    uint8_t loads[LOADS];
    const struct a64_capture_code code = {.out = loads};
    struct coder c = {.code = &code};
    load_owner(&c);
    *ret_byte = READS_NOT;
    for (uint32_t i = at - at % A64_BYTES; i >= A64_BYTES; i -= A64_BYTES) {
        const uint32_t from = i - A64_BYTES;
        if (from + BRANCH_AT < at && memcmp(stub + from, loads, LOADS) == 0)
            return from + BRANCH_AT;
    }
    return 0;
}

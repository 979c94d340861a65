/* Writes the code of captures (capture.h). */
#include "arch/arm/capture.h"

#include "arch/capture.h"

enum {
    BACK = 0, /* registers: where the agent or, after a fault, the tool goes on */
    ADDRESS = 2,
    FREE = 3,
    HIGH = 4, /* of the word */
    LANE = 6,
    HEAD = ARM_CAPTURE_HEAD,
    CLOCK = 9, /* its lower half; the upper half of a slot's value comes in */
    SITE = 11,
    WORD = 12,
    SAVED = ARM_SLICE_FRAME / ARM_WORD,
    VALUE_MOST_BYTES = 1536, /* of the code of a value, at most */
    MOST_SKIPS = 16,
    MOST_CONSTANT = 255 /* of an instruction */
};

/* Something in the code that leads to the end of the value. */
struct skip {
    size_t at;
    uint32_t condition; /* of the branch; ARM_ALWAYS: not a branch, but put_back() */
};

struct coder {
    struct writer *w;
    const struct stub_spec *stub;
    struct skip skips[MOST_SKIPS];
    size_t skip_count;
};

/* r0 becomes the address TO, behind this instruction, in the code. */
static void put_back(struct writer *w, size_t to) {
    if (!w->t32) {
        put_constant(w, BACK, (uint32_t)(to - (w->size + 2 * (size_t)A32_BYTES + A32_AHEAD)));
        put(w, 0xe08f0000, 0); /* add r0, pc, r0 */
        return;
    }
    /* adr counts from a multiple of four, as the agent's address is one. */
    const int64_t here = (((int64_t)w->size + T32_PC - w->agent) & ~(int64_t)3) + w->agent;
    const uint32_t far = (uint32_t)((int64_t)to + THUMB - here);
    put(w, 0, 0xf20f0000 | arm_bits(far, 11, 1) << 26 | arm_bits(far, 8, 3) << 12 | (far & 0xff));
}

static void skip(struct coder *c, uint32_t condition) {
    c->skips[c->skip_count++] = (struct skip){c->w->size, condition};
    if (condition == ARM_ALWAYS)
        put_back(c->w, c->w->size + A32_BYTES);
    else
        put_branch(c->w, condition, 0);
}

static void end_value(void *ctx) {
    struct coder *c = ctx;
    for (size_t i = 0; i < c->skip_count; i++) {
        struct writer patched = *c->w;
        patched.size = c->skips[i].at;
        if (c->skips[i].condition == ARM_ALWAYS)
            put_back(&patched, c->w->size);
        else
            put_branch(&patched, c->skips[i].condition, c->w->size);
    }
    c->skip_count = 0;
}

static void put_store(struct writer *w, uint32_t rt, uint32_t rn, uint32_t offset) {
    put(w, 0xe5800000 | rn << 16 | rt << 12 | offset, 0xf8c00000 | rn << 16 | rt << 12 | offset);
}
static void put_zero(struct writer *w, uint32_t rd) {
    put(w, 0xe3a00000 | rd << 12, 0xf04f0000 | rd << 8);
}

/* ---- slots ---- */

/* Waits for room, or goes on without values. Returns the way to the agent that leads on to the
 * event; its end is to be set at the end of the code. */
static struct agent_call reserve(struct coder *c, uint32_t behind) {
    struct writer *w = c->w;
    const bool waits = c->stub->overflow != OVERFLOW_DROP;
    const uint32_t size = capture_slots(c->stub->capture) * EVENT_BYTES;
    put_load_head(w);
    put_move(w, HEAD, 2);
    put_constant(w, 4, size);
    put_three(w, ADDS, 2, 2, 4);
    put_three(w, ADC_CONSTANT, 3, 3, 0);
    put_three(w, ADD_CONSTANT, 12, LANE, LANE_LIMIT);
    put_load_exclusive(w, 0, 12);
    put_compare(w, 0, 2);
    put_three(w, SBCS, 0, 1, 3);
    const size_t go = w->size;
    put_branch(w, ARM_HS, 0);
    put_constant(w, 4, waits ? size : behind); /* the code has one length */
    const struct agent_call call = put_agent_call(w, waits ? ARM_AGENT_ROOM : ARM_AGENT_CRAMPED);
    set_branch_target(w, go, ARM_HS);
    return call;
}

/* Writes a slot with the lower half of its value in r12, the upper one in r9. */
static void put_slot(struct coder *c, uint32_t id) {
    put_find_slot(c->w, HEAD, c->stub->ring_bytes);
    put_constant(c->w, SITE, id << 2 | EVENT_CONTROL);
    put_same(c->w, 0xe8811e00); /* stm r1, {r9-r12} */
    put_three(c->w, ADD_CONSTANT, HEAD, HEAD, EVENT_BYTES);
}

/* Writes the upper 16 bits of the word, if the lower 48 do not tell them. */
static void put_high(struct coder *c, uint32_t number) {
    struct writer *w = c->w;
    put(w, 0xe6bf3074, 0xfa0ff384); /* sxth r3, r4 */
    put_compare(w, FREE, HIGH);
    const size_t known = w->size;
    put_branch(w, ARM_EQ, 0);
    put_bits(w, WORD, HIGH, 16, 16);
    put_slot(c, CAPTURE_HIGH + number);
    set_branch_target(w, known, ARM_EQ);
}

static void put_word(void *ctx, unsigned size, uint32_t number) {
    struct coder *c = ctx;
    if (size > 4) {
        put_bits(c->w, FREE, HIGH, 0, 16);
        put_three(c->w, ORR, CLOCK, CLOCK, FREE);
    }
    put_slot(c, CAPTURE_WORD + number);
    if (size > 4)
        put(c->w, 0xe7cf901f, 0xf36f090f); /* bfc r9, #0, #16 */
    if (size > 6)
        put_high(c, number);
}

/* ---- where values begin ---- */

/* TO becomes the stack pointer at the function's entry plus OFFSET. */
static void stack_address(struct coder *c, uint32_t to, int32_t offset) {
    put_constant(c->w, to, ARM_CAPTURE_FRAME + c->stub->pops + (uint32_t)offset);
    put_three(c->w, ADD, to, ARM_SP, to);
}

/* The register with number REG in DWARF (AADWARF32, 4.1) as it was at the site. */
static void load_register(struct coder *c, uint32_t to, uint8_t reg) {
    if (reg < SAVED)
        put_load(c->w, to, ARM_SP, reg * (uint32_t)ARM_WORD);
    else if (reg == ARM_SP)
        put_three(c->w, ADD_CONSTANT, to, ARM_SP, ARM_CAPTURE_FRAME);
    else
        put_move(c->w, to, reg);
}

/* All 8 bytes of a register, or 4 of its upper half. Returns how many. */
static unsigned load_vector(struct coder *c, uint32_t to, const struct capture_value *v) {
    const uint32_t low = v->reg & 15, high = v->reg >> 4;
    if (v->part) { /* vmov to, s<2 × reg + 1> */
        put_same(c->w, 0xee100a90 | low << 16 | to << 12);
        return 4;
    }
    put_same(c->w, 0xec500b10 | (uint32_t)HIGH << 16 | to << 12 | high << 5 | low);
    return 8;
}

static unsigned load_stack(struct coder *c, uint32_t to, int32_t offset, unsigned size) {
    stack_address(c, FREE, offset);
    put_load(c->w, to, FREE, 0);
    if (size <= 4)
        return 4;
    put_load(c->w, HIGH, FREE, 4);
    return 8;
}

static void begin(void *ctx, const struct capture_value *v, unsigned part, bool address) {
    struct coder *c = ctx;
    const uint32_t to = address ? ADDRESS : WORD;
    const unsigned left = v->bytes - 8 * part;
    const unsigned size = address ? ARM_WORD : left < 8 ? left : 8;
    unsigned loaded = ARM_WORD;
    if (v->from == FROM_REGISTER)
        load_register(c, to, v->reg);
    else if (v->from == FROM_VECTOR)
        loaded = load_vector(c, to, v);
    else if (v->from == FROM_STACK)
        loaded = load_stack(c, to, v->stack_offset + 8 * (int32_t)part, size);
    else
        stack_address(c, to, v->stack_offset);
    if (size > loaded)
        put_zero(c->w, HIGH);
}

/* ---- memory ---- */

static void test_owner(struct writer *w) {
    put_load(w, FREE, LANE, LANE_CONTROL);
    put_load(w, FREE, FREE, 0);
    put(w, 0xe3130101, 0xf0134f80); /* tst r3, #DIED */
}

/* Distances of T32's `beq` that decides, from behind the next halfword on, in halfwords. */
enum { READS = 1, READS_NOT = 0xff };

static void check_owner(void *ctx) {
    struct coder *c = ctx;
    test_owner(c->w);
    if (!c->w->t32) {
        skip(c, ARM_NE);
        return;
    }
    note_place(c->w);
    put_half(c->w, 0xd000 | READS); /* beq read */
    skip(c, ARM_PL);
}
_Static_assert(CONTROL_OWNER_DIED == 0x40000000, "spelt out in check_owner()");

static void check_address(void *ctx) {
    struct coder *c = ctx;
    put(c->w, 0xe2423a01, 0xf5a25380); /* sub r3, r2, #0x1000 */
    put(c->w, 0xe3730a11, 0xf5133f88); /* cmn r3, #0x11000 */
    skip(c, ARM_HS);
    skip(c, ARM_ALWAYS);
}

static void add_offset(void *ctx, int32_t offset) {
    struct writer *w = ((struct coder *)ctx)->w;
    if (offset >= 0 && offset <= MOST_CONSTANT) {
        put_three(w, ADD_CONSTANT, ADDRESS, ADDRESS, (uint32_t)offset);
    } else if (offset < 0 && offset >= -MOST_CONSTANT) {
        put_three(w, SUB_CONSTANT, ADDRESS, ADDRESS, (uint32_t)-offset);
    } else {
        put_constant(w, FREE, (uint32_t)offset);
        put_three(w, ADD, ADDRESS, ADDRESS, FREE);
    }
}

static void follow(void *ctx) { put_load(((struct coder *)ctx)->w, ADDRESS, ADDRESS, 0); }

static void load_byte(struct writer *w, uint32_t rt, uint32_t at) {
    const uint32_t registers = (uint32_t)ADDRESS << 16 | rt << 12;
    put(w, 0xe5d00000 | registers | at, 0xf8900000 | registers | at);
}
static void load_half(struct writer *w, uint32_t rt, uint32_t at) {
    const uint32_t registers = (uint32_t)ADDRESS << 16 | rt << 12;
    put(w, 0xe1d000b0 | registers | at >> 4 << 8 | (at & 15), 0xf8b00000 | registers | at);
}

/* RT becomes the SIZE bytes, 1 to 4, at the address + AT. */
static void load_part(struct writer *w, uint32_t rt, unsigned size, unsigned at) {
    if (size == 4)
        put_load(w, rt, ADDRESS, at);
    else if (size == 1)
        load_byte(w, rt, at);
    else
        load_half(w, rt, at);
    if (size == 3) {
        load_byte(w, FREE, at + 2);
        put_shifted(w, rt, rt, FREE, 16);
    }
}

static void load_bytes(void *ctx, unsigned size, unsigned at) {
    struct writer *w = ((struct coder *)ctx)->w;
    load_part(w, WORD, size < 4 ? size : 4, at);
    if (size > 4)
        load_part(w, HIGH, size - 4, at + 4);
}

static void keep_address(void *ctx) {
    struct writer *w = ((struct coder *)ctx)->w;
    put_move(w, WORD, ADDRESS);
    put_zero(w, HIGH);
}

/* ---- texts ---- */

/* Where in the stub's frame the length with PLACE is. */
static uint32_t length_at(int place) { return ARM_SLICE_FRAME + ARM_WORD * (uint32_t)place; }

/* Lengths of more than 32 bits are kept as the largest one. */
static void keep_length(void *ctx, unsigned size, int place) {
    struct writer *w = ((struct coder *)ctx)->w;
    if (size <= 4) {
        put_bits(w, FREE, WORD, 0, 8 * size);
    } else {
        put_bits(w, FREE, HIGH, 0, 8 * (size - 4));
        put_compare_constant(w, FREE, 0);
        put_move(w, FREE, WORD);
        const size_t fits = w->size;
        put_branch(w, ARM_EQ, 0);
        put(w, 0xe3e03000, 0xf06f0300); /* mvn r3, #0 */
        set_branch_target(w, fits, ARM_EQ);
    }
    put_store(w, FREE, ARM_SP, length_at(place));
}

/* The word becomes the length in bytes of a text that has its own. */
static void load_length(struct coder *c, const struct capture_value *v, int place) {
    struct writer *w = c->w;
    put_load(w, WORD, ARM_SP, length_at(place));
    put_16(w, FREE, v->most / v->unit, false);
    put_compare(w, WORD, FREE);
    const size_t fits = w->size;
    put_branch(w, ARM_LS, 0);
    put_move(w, WORD, FREE);
    set_branch_target(w, fits, ARM_LS);
    put_shifted(w, WORD, ARM_PC, WORD, v->unit / 2);
    put_compare_constant(w, WORD, 0);
    skip(c, ARM_EQ);
}

static void put_text(void *ctx, const struct capture_value *v, int place, uint32_t number) {
    struct coder *c = ctx;
    if (place >= 0)
        load_length(c, v, place);
    else
        put_16(c->w, WORD, v->most, false);
    put_constant(c->w, SITE, (CAPTURE_WORD + number) << 2 | EVENT_CONTROL);
    put_jump(c->w, place >= 0     ? ARM_AGENT_TEXT_COUNTED
                   : v->unit == 4 ? ARM_AGENT_TEXT_LONG
                   : v->unit == 2 ? ARM_AGENT_TEXT_WIDE
                                  : ARM_AGENT_TEXT);
}

static const struct capture_machine machine = {
    begin,        check_owner, check_address, add_offset, follow,    load_bytes,
    keep_address, put_word,    keep_length,   put_text,   end_value,
};

_Static_assert(CAPTURE_MOST_LENGTHS *ARM_WORD <= ARM_LENGTHS_BYTES, "room in the frame");

/* r9 has the lower half of the clock, and 0 for the upper one of the number. */
static void put_begin(struct coder *c, int lengths) {
    put_constant(c->w, WORD, c->stub->capture_number);
    put_slot(c, CAPTURE_BEGIN);
    if (lengths)
        put_zero(c->w, FREE);
    for (int i = 0; i < lengths; i++)
        put_store(c->w, FREE, ARM_SP, length_at(i));
}

size_t arm_capture_emit(struct writer *w, const struct stub_spec *stub, uint32_t behind) {
    struct coder c = {.w = w, .stub = stub};
    const struct capture *capture = stub->capture;
    const int lengths = capture_lengths(capture);
    const size_t start = w->size;
    uint32_t number = 0;
    if (lengths > CAPTURE_MOST_LENGTHS)
        return 0;
    const struct agent_call full = reserve(&c, behind);
    put_begin(&c, lengths);
    for (size_t i = 0; i < capture->count; i++) {
        if (w->size - start + VALUE_MOST_BYTES > STUB_CAPTURE_BYTES)
            return 0;
        capture_put_value(&machine, &c, capture, i, number);
        number += capture_value_words(&capture->values[i]);
    }
    set_return(w, full, stub->overflow == OVERFLOW_DROP ? w->size : w->retry);
    return w->size - start;
}

uint32_t arm_capture_read_switch(bool t32, const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
    enum { TEST_BYTES = 3 * A32_BYTES, CONDITION_AT = 3, ALWAYS = ARM_ALWAYS << 4 | 0xa };
    const uint32_t step = t32 ? T32_HALF : A32_BYTES, byte_at = t32 ? 0 : CONDITION_AT;
    uint8_t test[TEST_BYTES];
    struct writer w = {.t32 = t32, .out = test};
    test_owner(&w);
    *ret_byte = t32 ? READS_NOT : ALWAYS;
    for (uint32_t end = at - at % step; end > TEST_BYTES; end -= step)
        if (end + byte_at < at && memcmp(stub + end - TEST_BYTES, test, TEST_BYTES) == 0)
            return end + byte_at;
    return 0;
}

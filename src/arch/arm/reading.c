/* Writes the code that reads values (capture.h has a list of it). */
#include "arch/arm/reading.h"

enum { MOST_CONSTANT = 255 /* of an instruction */ };

/* r0 becomes the address TO, behind this instruction, in the code. */
static void put_back(struct writer *w, size_t to) {
    if (!w->t32) {
        put_constant(w, ARM_BACK, (uint32_t)(to - (w->size + 2 * (size_t)A32_BYTES + A32_AHEAD)));
        put(w, 0xe08f0000, 0); /* add r0, pc, r0 */
        return;
    }
    /* adr counts from a multiple of four, as the agent's address is one. */
    const int64_t here = (((int64_t)w->size + T32_PC - w->agent) & ~(int64_t)3) + w->agent;
    const uint32_t far = (uint32_t)((int64_t)to + THUMB - here);
    put(w, 0, 0xf20f0000 | arm_bits(far, 11, 1) << 26 | arm_bits(far, 8, 3) << 12 | (far & 0xff));
}

/* Writes J again, to the place AT, or first to anywhere. */
static void put_jump_to(struct writer *w, const struct label_jump *j, size_t at) {
    if (j->how == ARM_UNCONDITIONAL)
        put_back(w, at);
    else
        put_branch(w, j->how, at);
}

void arm_jump_to(struct reading *r, uint32_t condition, int label) {
    const struct label_jump j = {r->w->size, condition, label};
    labels_add(&r->labels, j);
    put_jump_to(r->w, &j, r->w->size + A32_BYTES);
}

void arm_set_label(struct reading *r, int label, size_t far) {
    struct label_jump j;
    while (labels_take(&r->labels, label, &j)) {
        struct writer patched = *r->w;
        patched.size = j.at;
        put_jump_to(&patched, &j, r->w->size + far);
    }
}

static void otherwise(struct reading *r, uint32_t condition) {
    arm_jump_to(r, condition, r->otherwise);
}

/* ---- where values begin ---- */

void arm_stack_address(const struct reading *r, uint32_t to, int32_t offset) {
    put_constant(r->w, to, arm_stub_frame(r->stub->variant) + r->stub->pops + (uint32_t)offset);
    put_three(r->w, ADD, to, ARM_SP, to);
}

/* The register with number REG in DWARF (AADWARF32, 4.1) as it was at the site. */
static void load_register(const struct reading *r, uint32_t to, uint8_t reg) {
    if (reg < arm_stub_saved(r->stub->variant))
        put_load(r->w, to, ARM_SP, reg * (uint32_t)ARM_WORD);
    else if (reg == ARM_SP)
        put_three(r->w, ADD_CONSTANT, to, ARM_SP, arm_stub_frame(r->stub->variant));
    else
        put_move(r->w, to, reg);
}

/* All 8 bytes of a register, or 4 of its upper half. Returns how many. */
static unsigned load_vector(const struct reading *r, uint32_t to, const struct capture_value *v) {
    const uint32_t low = v->reg & 15, high = v->reg >> 4;
    if (v->part) { /* vmov to, s<2 × reg + 1> */
        put_same(r->w, 0xee100a90 | low << 16 | to << 12);
        return 4;
    }
    put_same(r->w, 0xec500b10 | (uint32_t)ARM_HIGH << 16 | to << 12 | high << 5 | low);
    return 8;
}

static unsigned load_stack(const struct reading *r, uint32_t to, int32_t offset, unsigned size) {
    arm_stack_address(r, ARM_FREE, offset);
    put_load(r->w, to, ARM_FREE, 0);
    if (size <= 4)
        return 4;
    put_load(r->w, ARM_HIGH, ARM_FREE, 4);
    return 8;
}

static void load_sum(const struct reading *r, uint32_t to, const struct capture_value *v) {
    load_register(r, ARM_FREE, capture_index_register(v));
    load_register(r, to, v->reg);
    put_three_shifted(r->w, ADD, to, to,
                      (struct arm_shifted){ARM_FREE, ARM_LSL, capture_index_shift(v)});
}

static void begin(void *ctx, const struct capture_value *v, unsigned part, bool address) {
    struct reading *r = ctx;
    const uint32_t to = address ? ARM_ADDRESS : r->word;
    const unsigned left = v->bytes - 8 * part;
    const unsigned size = address ? ARM_WORD : left < 8 ? left : 8;
    unsigned loaded = ARM_WORD;
    if (v->from == FROM_REGISTER)
        load_register(r, to, v->reg);
    else if (v->from == FROM_VECTOR)
        loaded = load_vector(r, to, v);
    else if (v->from == FROM_STACK)
        loaded = load_stack(r, to, v->stack_offset + 8 * (int32_t)part, size);
    else if (v->from == FROM_INDEXED)
        load_sum(r, to, v);
    else
        arm_stack_address(r, to, v->stack_offset);
    if (size > loaded)
        put_zero(r->w, ARM_HIGH);
}

/* ---- memory ---- */

static void test_owner(struct writer *w) {
    put_load(w, ARM_FREE, ARM_LANE, LANE_CONTROL);
    put_load(w, ARM_FREE, ARM_FREE, 0);
    put(w, 0xe3130101, 0xf0134f80); /* tst r3, #DIED */
}

/* Distances of T32's `beq` that decides, from behind the next halfword on, in halfwords. */
enum { READS = 1, READS_NOT = 0xff };

static void check_owner(void *ctx) {
    struct reading *r = ctx;
    test_owner(r->w);
    if (!r->w->t32) {
        otherwise(r, ARM_NE);
        return;
    }
    note_place(r->w);
    put_half(r->w, 0xd000 | READS); /* beq read */
    otherwise(r, ARM_PL);
}
_Static_assert(CONTROL_OWNER_DIED == 0x40000000, "spelt out in check_owner()");

static void check_address(void *ctx) {
    struct reading *r = ctx;
    put(r->w, 0xe2423a01, 0xf5a25380); /* sub r3, r2, #0x1000 */
    put(r->w, 0xe3730a11, 0xf5133f88); /* cmn r3, #0x11000 */
    otherwise(r, ARM_HS);
    otherwise(r, ARM_UNCONDITIONAL);
}

static void add_offset(void *ctx, int32_t offset) {
    struct writer *w = ((struct reading *)ctx)->w;
    if (offset >= 0 && offset <= MOST_CONSTANT) {
        put_three(w, ADD_CONSTANT, ARM_ADDRESS, ARM_ADDRESS, (uint32_t)offset);
    } else if (offset < 0 && offset >= -MOST_CONSTANT) {
        put_three(w, SUB_CONSTANT, ARM_ADDRESS, ARM_ADDRESS, (uint32_t)-offset);
    } else {
        put_constant(w, ARM_FREE, (uint32_t)offset);
        put_three(w, ADD, ARM_ADDRESS, ARM_ADDRESS, ARM_FREE);
    }
}

static void follow(void *ctx) { put_load(((struct reading *)ctx)->w, ARM_ADDRESS, ARM_ADDRESS, 0); }

static void load_byte(struct writer *w, uint32_t rt, uint32_t at) {
    const uint32_t registers = (uint32_t)ARM_ADDRESS << 16 | rt << 12;
    put(w, 0xe5d00000 | registers | at, 0xf8900000 | registers | at);
}
static void load_half(struct writer *w, uint32_t rt, uint32_t at) {
    const uint32_t registers = (uint32_t)ARM_ADDRESS << 16 | rt << 12;
    put(w, 0xe1d000b0 | registers | at >> 4 << 8 | (at & 15), 0xf8b00000 | registers | at);
}

/* RT becomes the SIZE bytes, 1 to 4, at the address + AT. */
static void load_part(struct writer *w, uint32_t rt, unsigned size, unsigned at) {
    if (size == 4)
        put_load(w, rt, ARM_ADDRESS, at);
    else if (size == 1)
        load_byte(w, rt, at);
    else
        load_half(w, rt, at);
    if (size == 3) {
        load_byte(w, ARM_FREE, at + 2);
        put_three_shifted(w, ORR, rt, rt, (struct arm_shifted){ARM_FREE, ARM_LSL, 16});
    }
}

static void load(void *ctx, unsigned size, unsigned at) {
    const struct reading *r = ctx;
    load_part(r->w, r->word, size < 4 ? size : 4, at);
    if (size > 4)
        load_part(r->w, ARM_HIGH, size - 4, at + 4);
}

const struct value_reader arm_reader = {begin,      check_owner, check_address,
                                        add_offset, follow,      load};

uint32_t arm_read_switch(bool t32, const uint8_t *stub, uint32_t at, uint8_t *ret_byte) {
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

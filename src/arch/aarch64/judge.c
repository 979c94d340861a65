/* Writes the code that judges calls (judge.h). */
#include "arch/aarch64/judge.h"

#include "arch/aarch64/reading.h"
#include "arch/judge.h"

enum {
    SCRATCH = 0, /* registers */
    WORD = 1,
    CALL = 1,
    PLACE = 2,
    FREE = 2,
    KEPT = A64_LANE,       /* less LANE_RING */
    TEST_MOST_BYTES = 320, /* of the code of a test, at most */
    SETS = LANE_RING + KEPT_IN_SETS
};

static struct writer *writer_of(void *ctx) { return ((struct reading *)ctx)->w; }
static size_t size_of(void *ctx) { return writer_of(ctx)->size; }
static void begin_label(void *ctx, int label) { a64_set_label(ctx, label, 0); }
static void jump(void *ctx, int label) { a64_jump_to(ctx, branch(), label); }

/* ---- tests ---- */

static uint32_t and (uint32_t rd, uint32_t rn, uint32_t rm) {
    return with_registers(0x8a000000, rd, rn, rm);
}
static uint32_t bic(uint32_t rd, uint32_t rn, uint32_t rm) {
    return with_registers(0x8a200000, rd, rn, rm);
}
static uint32_t eor(uint32_t rd, uint32_t rn, uint32_t rm) {
    return with_registers(0xca000000, rd, rn, rm);
}

/* Loads VALUE by as few of these instructions as it takes: movz or movn, then movk. */
static void put_number(struct writer *w, uint32_t reg, uint64_t value) {
    const bool ones = value >> 48 == 0xffff;
    const uint32_t filler = ones ? 0xffff : 0;
    bool begun = false;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t part = (uint32_t)(value >> 16 * i & 0xffff);
        const uint32_t place = i << 21 | reg;
        if (part == filler && (begun || i < 3))
            continue;
        if (begun)
            put(w, 0xf2800000 | place | part << 5);
        else
            put(w, (ones ? 0x92800000 : 0xd2800000) | place | (part ^ filler) << 5);
        begun = true;
    }
}

static void take_number(void *ctx, const struct predicate_test *t) {
    struct writer *w = writer_of(ctx);
    if (t->bits < 64) {
        const uint32_t field = bits(WORD, WORD, t->shift, t->bits);
        put(w, t->is_signed ? field & ~UINT32_C(0x40000000) : field); /* sbfx */
    }
    if (t->masked) {
        put_number(w, FREE, t->mask);
        put(w, and(WORD, WORD, FREE));
    }
}

/* The sign of x0 becomes the borrow of the difference of WORD and FREE, or of FREE and WORD. */
static void put_difference(struct writer *w, const struct predicate_test *t, bool turned) {
    const uint32_t a = turned ? FREE : WORD, b = turned ? WORD : FREE;
    put(w, sub(SCRATCH, a, b));
    if (t->bits < 64 && !t->masked)
        return;
    if (t->is_signed && !t->masked) { /* of the same signs: as the difference; else that of a */
        put(w, eor(b, a, b));
        put(w, eor(a, SCRATCH, a));
        put(w, and(b, b, a));
        put(w, eor(SCRATCH, SCRATCH, b));
        return;
    }
    put(w, eor(a, a, b)); /* of the same highest bits: as the difference; else that of b */
    put(w, bic(SCRATCH, SCRATCH, a));
    put(w, and(a, a, b));
    put(w, orr(SCRATCH, SCRATCH, a));
}

static void compare(void *ctx, const struct predicate_test *t, enum predicate_op op, int label) {
    struct writer *w = writer_of(ctx);
    put_number(w, FREE, t->constant);
    if (op == TEST_EQUAL || op == TEST_UNEQUAL) {
        put(w, sub(WORD, WORD, FREE));
        a64_jump_to(ctx, branch_by_value(WORD, op == TEST_UNEQUAL), label);
        return;
    }
    put_difference(w, t, op == TEST_MORE || op == TEST_AT_MOST);
    a64_jump_to(ctx, branch_by_sign(SCRATCH, op == TEST_LESS || op == TEST_MORE), label);
}

/* ---- calls that are kept ---- */

static void find_kept(void *ctx) {
    struct writer *w = writer_of(ctx);
    put_number(w, FREE, ((struct reading *)ctx)->stub->ring_bytes);
    put(w, add(KEPT, KEPT, FREE));
}

static void test_field(void *ctx, unsigned field, bool set, int label) {
    put(writer_of(ctx), ldr(SCRATCH, KEPT, LANE_RING + field));
    a64_jump_to(ctx, branch_by_value(SCRATCH, set), label);
}

static void load_call(void *ctx) { a64_stack_address(ctx, CALL, 0); }

static uint32_t invert(uint32_t rd, uint32_t rm) {
    return with_registers(0xaa2003e0, rd, 0, rm); /* mvn */
}
static uint32_t half(uint32_t reg) { return bits(reg, reg, 1, 63); }

static void compare_call(void *ctx, unsigned field, bool above, int label) {
    struct writer *w = writer_of(ctx);
    put(w, ldr(SCRATCH, KEPT, LANE_RING + field));
    put(w, invert(FREE, CALL));
    put(w, half(above ? FREE : SCRATCH));
    put(w, shifted_right(above ? sub(SCRATCH, FREE, SCRATCH) : sub(SCRATCH, SCRATCH, FREE), 1));
    a64_jump_to(ctx, branch_by_sign(SCRATCH, above), label);
}

static void find_set(void *ctx) {
    enum { FOLD = 6, SP_ALIGN = 4, SETS_BITS = 6, SET_SHIFT = 5 };
    struct writer *w = writer_of(ctx);
    put(w, shifted_right(eor(PLACE, CALL, CALL), FOLD));
    put(w, bits(PLACE, PLACE, SP_ALIGN, SETS_BITS));
    put(w, shifted_left(add(PLACE, KEPT, PLACE), SET_SHIFT));
}
_Static_assert(KEPT_SETS == 1 << 6 && KEPT_WAYS * sizeof(uint64_t) == 1 << 5, "spelt out");

static void next_place(void *ctx, bool back) {
    put(writer_of(ctx),
        add_constant(PLACE, PLACE, sizeof(uint64_t)) | (back ? 1U << 30 : 0)); /* sub */
}

static void compare_place(void *ctx, bool free, int label) {
    struct writer *w = writer_of(ctx);
    put(w, ldr(SCRATCH, PLACE, SETS));
    if (!free)
        put(w, sub(SCRATCH, SCRATCH, CALL));
    a64_jump_to(ctx, branch_by_value(SCRATCH, false), label);
}

static void set_place(void *ctx, bool free) {
    put(writer_of(ctx), str(free ? A64_ZERO : CALL, PLACE, SETS));
}

static void count(void *ctx, bool more) {
    struct writer *w = writer_of(ctx);
    put(w, ldr(SCRATCH, KEPT, LANE_RING + KEPT_COUNT));
    put(w, add_constant(SCRATCH, SCRATCH, 1) | (more ? 0 : 1U << 30));
    put(w, str(SCRATCH, KEPT, LANE_RING + KEPT_COUNT));
}

static void set_full(void *ctx) {
    put_number(writer_of(ctx), SCRATCH, 1);
    put(writer_of(ctx), str(SCRATCH, KEPT, LANE_RING + KEPT_FULL));
}

static void set_newest(void *ctx) {
    put(writer_of(ctx), invert(SCRATCH, CALL));
    put(writer_of(ctx), str(SCRATCH, KEPT, LANE_RING + KEPT_NEWEST));
}

static const struct judge_machine machine = {
    &a64_reader, begin_label, jump,         take_number, compare,    find_kept,
    test_field,  load_call,   compare_call, find_set,    next_place, compare_place,
    set_place,   count,       set_full,     set_newest,  size_of,    TEST_MOST_BYTES};

size_t a64_judge_emit(struct writer *w, const struct stub_spec *stub, uint32_t go) {
    struct reading r = {
        .w = w, .stub = stub, .start = w->size, .word = WORD, .address = WORD, .free = FREE};
    if (!judge_put(&machine, &r))
        return 0;
    a64_set_label(&r, JUDGE_PASS, 0);
    a64_set_label(&r, JUDGE_GO, go);
    return w->size - r.start;
}

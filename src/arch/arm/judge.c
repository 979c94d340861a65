/* Writes the code that judges calls (judge.h). */
#include "arch/arm/judge.h"

#include "arch/arm/reading.h"
#include "arch/judge.h"

enum {
    SCRATCH = 0, /* registers */
    WORD = 1,
    CALL = 1,
    PLACE = 2,
    FREE = ARM_FREE,
    HIGH = ARM_HIGH,
    FREE_HIGH = 5,
    KEPT = ARM_LANE,
    HALF_BITS = 32,
    TEST_MOST_BYTES = 384 /* of the code of a test, at most */
};

static struct writer *writer_of(void *ctx) { return ((struct reading *)ctx)->w; }
static size_t size_of(void *ctx) { return writer_of(ctx)->size; }
static void begin_label(void *ctx, int label) { arm_set_label(ctx, label, 0); }
static void jump(void *ctx, int label) { arm_jump_to(ctx, ARM_ALWAYS, label); }

/* ---- tests ---- */

/* The lower half of the word is all of the number. */
static bool is_narrow(const struct predicate_test *t) { return t->bits <= HALF_BITS && !t->masked; }

struct field {
    uint32_t from; /* a register */
    unsigned low, count;
};
static void put_field(struct writer *w, const struct predicate_test *t, uint32_t reg,
                      struct field f) {
    if (t->is_signed)
        put_signed_bits(w, reg, f.from, f.low, f.count);
    else
        put_bits(w, reg, f.from, f.low, f.count);
}

/* The lower half becomes the lower half of the number, or all of it. */
static void take_lower(struct writer *w, const struct predicate_test *t) {
    const unsigned first = t->shift, end = first + t->bits;
    const unsigned count = t->bits < HALF_BITS ? t->bits : HALF_BITS;
    if (first >= HALF_BITS) {
        put_field(w, t, WORD, (struct field){HIGH, first - HALF_BITS, count});
    } else if (end <= HALF_BITS) {
        if (t->bits < HALF_BITS)
            put_field(w, t, WORD, (struct field){WORD, first, count});
    } else if (first) {
        put_three_shifted(w, MOV, SCRATCH, 0,
                          (struct arm_shifted){HIGH, ARM_LSL, HALF_BITS - first});
        put_three_shifted(w, ORR, WORD, SCRATCH, (struct arm_shifted){WORD, ARM_LSR, first});
        if (t->bits < HALF_BITS)
            put_field(w, t, WORD, (struct field){WORD, 0, count});
    }
}

/* The upper half becomes that of the number. The lower one is taken. */
static void take_upper(struct writer *w, const struct predicate_test *t) {
    if (t->bits > HALF_BITS)
        put_field(w, t, HIGH, (struct field){HIGH, t->shift, t->bits - HALF_BITS});
    else if (t->is_signed)
        put_three_shifted(w, MOV, HIGH, 0, (struct arm_shifted){WORD, ARM_ASR, HALF_BITS - 1});
    else
        put_zero(w, HIGH);
}

static void take_number(void *ctx, const struct predicate_test *t) {
    struct writer *w = writer_of(ctx);
    take_lower(w, t);
    if (is_narrow(t))
        return;
    take_upper(w, t);
    if (t->masked) {
        put_constant(w, FREE, (uint32_t)t->mask);
        put_three(w, AND, WORD, WORD, FREE);
        put_constant(w, FREE, (uint32_t)(t->mask >> HALF_BITS));
        put_three(w, AND, HIGH, HIGH, FREE);
    }
}

/* Sets the flags as the difference of the number and the constant, or of the constant and the
 * number. */
static void put_difference(struct writer *w, const struct predicate_test *t, bool turned) {
    put_compare(w, turned ? FREE : WORD, turned ? WORD : FREE);
    if (!is_narrow(t))
        put_three(w, SBCS, SCRATCH, turned ? FREE_HIGH : HIGH, turned ? HIGH : FREE_HIGH);
}

static void put_equality(struct writer *w, const struct predicate_test *t) {
    if (is_narrow(t)) {
        put_compare(w, WORD, FREE);
        return;
    }
    put_three(w, EOR, WORD, WORD, FREE);
    put_three(w, EOR, HIGH, HIGH, FREE_HIGH);
    put_three(w, ORRS, WORD, WORD, HIGH);
}

static void compare(void *ctx, const struct predicate_test *t, enum predicate_op op, int label) {
    struct writer *w = writer_of(ctx);
    const bool is_signed = t->is_signed && !t->masked;
    put_constant(w, FREE, (uint32_t)t->constant);
    if (!is_narrow(t))
        put_constant(w, FREE_HIGH, (uint32_t)(t->constant >> HALF_BITS));
    if (op == TEST_EQUAL || op == TEST_UNEQUAL) {
        put_equality(w, t);
        arm_jump_to(ctx, op == TEST_EQUAL ? ARM_EQ : ARM_NE, label);
        return;
    }
    put_difference(w, t, op == TEST_MORE || op == TEST_AT_MOST);
    if (op == TEST_LESS || op == TEST_MORE)
        arm_jump_to(ctx, is_signed ? ARM_LT : ARM_LO, label);
    else
        arm_jump_to(ctx, is_signed ? ARM_GE : ARM_HS, label);
}

/* ---- calls that are kept ---- */

static void find_kept(void *ctx) {
    struct writer *w = writer_of(ctx);
    put_constant(w, FREE, LANE_RING + ((struct reading *)ctx)->stub->ring_bytes);
    put_three(w, ADD, KEPT, KEPT, FREE);
}

static void test_field(void *ctx, unsigned field, bool set, int label) {
    put_load(writer_of(ctx), SCRATCH, KEPT, field);
    put_compare_constant(writer_of(ctx), SCRATCH, 0);
    arm_jump_to(ctx, set ? ARM_NE : ARM_EQ, label);
}

static void load_call(void *ctx) { arm_stack_address(ctx, CALL, 0); }

static void compare_call(void *ctx, unsigned field, bool above, int label) {
    struct writer *w = writer_of(ctx);
    put_load(w, SCRATCH, KEPT, field);
    put_invert(w, PLACE, CALL);
    put_compare(w, PLACE, SCRATCH);
    arm_jump_to(ctx, above ? ARM_LO : ARM_LS, label);
}

static void find_set(void *ctx) {
    enum { FOLD = 6, SP_ALIGN = 4, SETS_BITS = 6, SET_SHIFT = 5 };
    struct writer *w = writer_of(ctx);
    put_three_shifted(w, EOR, PLACE, CALL, (struct arm_shifted){CALL, ARM_LSR, FOLD});
    put_bits(w, PLACE, PLACE, SP_ALIGN, SETS_BITS);
    put_three_shifted(w, ADD, PLACE, KEPT, (struct arm_shifted){PLACE, ARM_LSL, SET_SHIFT});
}
_Static_assert(KEPT_SETS == 1 << 6 && KEPT_WAYS * sizeof(uint64_t) == 1 << 5, "spelt out");

static void next_place(void *ctx, bool back) {
    put_three(writer_of(ctx), back ? SUB_CONSTANT : ADD_CONSTANT, PLACE, PLACE, sizeof(uint64_t));
}

static void compare_place(void *ctx, bool free, int label) {
    struct writer *w = writer_of(ctx);
    put_load(w, SCRATCH, PLACE, KEPT_IN_SETS);
    if (free)
        put_compare_constant(w, SCRATCH, 0);
    else
        put_compare(w, SCRATCH, CALL);
    arm_jump_to(ctx, ARM_EQ, label);
}

static void set_place(void *ctx, bool free) {
    struct writer *w = writer_of(ctx);
    if (free)
        put_zero(w, SCRATCH);
    put_store(w, free ? SCRATCH : CALL, PLACE, KEPT_IN_SETS);
}

static void count(void *ctx, bool more) {
    struct writer *w = writer_of(ctx);
    put_load(w, SCRATCH, KEPT, KEPT_COUNT);
    put_three(w, more ? ADD_CONSTANT : SUB_CONSTANT, SCRATCH, SCRATCH, 1);
    put_store(w, SCRATCH, KEPT, KEPT_COUNT);
}

static void set_full(void *ctx) {
    struct writer *w = writer_of(ctx);
    put_constant(w, SCRATCH, 1);
    put_store(w, SCRATCH, KEPT, KEPT_FULL);
}

static void set_newest(void *ctx) {
    struct writer *w = writer_of(ctx);
    put_invert(w, SCRATCH, CALL);
    put_store(w, SCRATCH, KEPT, KEPT_NEWEST);
}

static const struct judge_machine machine = {
    &arm_reader, begin_label, jump,         take_number, compare,    find_kept,
    test_field,  load_call,   compare_call, find_set,    next_place, compare_place,
    set_place,   count,       set_full,     set_newest,  size_of,    TEST_MOST_BYTES};

size_t arm_judge_emit(struct writer *w, const struct stub_spec *stub, uint32_t go) {
    struct reading r = {.w = w, .stub = stub, .start = w->size, .word = WORD};
    if (!judge_put(&machine, &r))
        return 0;
    arm_set_label(&r, JUDGE_PASS, 0);
    arm_set_label(&r, JUDGE_GO, go);
    return w->size - r.start;
}

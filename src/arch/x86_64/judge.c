/* Writes the code that judges calls (judge.h). */
#include "arch/x86_64/judge.h"

#include "arch/x86_64/code.h"
#include "values/predicate.h"

enum { SAVED = 3 }; /* registers that the stub has pushed */

/* Where a jump leads besides to tests. */
enum { TO_FALSE = PREDICATE_FALSE, TO_KEEP = PREDICATE_TRUE, TO_PASS = -3, TO_GO = -4 };

static void number64(struct code *c, uint64_t value) { code_bytes(c, &value, sizeof value); }

static void jump(struct code *c, int to) {
    INSN(c, "\xe9"); /* jmp */
    code_lead(c, to);
}

static void jump_if(struct code *c, uint8_t condition, int to) {
    const uint8_t jcc[] = {0x0f, condition};
    code_bytes(c, jcc, sizeof jcc);
    code_lead(c, to);
}
enum { IF_BELOW = 0x82, IF_BELOW_OR_EQUAL = 0x86, IF_EQUAL = 0x84, IF_UNEQUAL = 0x85 };

static void label(struct code *c, int name) { code_set(c, name, 0); }

/* ---- tests ---- */

/* The word with which the test's value begins, or the word AT bytes behind it. */
static void load_first(struct code *c, const struct capture_value *v, unsigned at) {
    const int64_t on_stack = (int64_t)c->up + c->stub->pops + v->stack_offset + at;
    if (v->from == FROM_REGISTER)
        code_load_register(c, CODE_RAX, v->reg);
    else if (v->from == FROM_STACK)
        code_load_stack(c, CODE_RAX, on_stack);
    else
        code_stack_address(c, CODE_RAX, on_stack);
}

static void load_memory(struct code *c, const struct predicate_test *t) {
    const struct capture_value *v = &t->value;
    load_first(c, v, 0);
    code_check_owner(c, t->on_false);
    for (int i = 0; i < v->steps; i++) {
        if (v->step[i].offset)
            INSN32(c, "\x48\x05", v->step[i].offset); /* add $offset,%rax */
        code_check_address(c, CODE_RAX, CODE_RCX, t->on_false);
        if (i + 1 < v->steps)
            INSN(c, "\x48\x8b\x00"); /* mov (%rax),%rax */
    }
    if (t->size == 8)
        INSN32(c, "\x48\x8b\x80", t->at); /* mov at(%rax),%rax */
    else if (t->size == 4)
        INSN32(c, "\x8b\x80", t->at); /* mov at(%rax),%eax */
    else if (t->size == 2)
        INSN32(c, "\x0f\xb7\x80", t->at); /* movzwl at(%rax),%eax */
    else
        INSN32(c, "\x0f\xb6\x80", t->at); /* movzbl at(%rax),%eax */
}

/* The lower 32 bits of rax are the value. */
static bool is_narrow(const struct predicate_test *t) {
    return t->bits == 32 && !t->shift && !t->masked;
}

/* rax becomes the number that its bits of the value are. */
static void extend(struct code *c, const struct predicate_test *t) {
    const uint8_t left = (uint8_t)(64 - t->shift - t->bits), right = (uint8_t)(64 - t->bits);
    const uint8_t shl[] = {0x48, 0xc1, 0xe0, left};
    const uint8_t shift[] = {0x48, 0xc1, t->is_signed ? 0xf8 : 0xe8, right};
    if (left)
        code_bytes(c, shl, sizeof shl); /* shl $left,%rax */
    if (right)
        code_bytes(c, shift, sizeof shift); /* sar|shr $right,%rax */
}

static bool fits(uint64_t value) { return (uint64_t)(int64_t)(int32_t)value == value; }

static void mask(struct code *c, uint64_t value) {
    if (fits(value)) {
        INSN32(c, "\x48\x25", (int64_t)value); /* and $mask,%rax */
        return;
    }
    INSN(c, "\x48\xb9"); /* movabs $mask,%rcx */
    number64(c, value);
    INSN(c, "\x48\x21\xc8"); /* and %rcx,%rax */
}

static void compare(struct code *c, const struct predicate_test *t) {
    if (is_narrow(t)) {
        INSN32(c, "\x3d", (int64_t)t->constant); /* cmp $constant,%eax */
    } else if (fits(t->constant)) {
        INSN32(c, "\x48\x3d", (int64_t)t->constant); /* cmp $constant,%rax */
    } else {
        INSN(c, "\x48\xb9"); /* movabs $constant,%rcx */
        number64(c, t->constant);
        INSN(c, "\x48\x39\xc8"); /* cmp %rcx,%rax */
    }
}

/* The second byte of the jump where T holds. */
static uint8_t jump_of(const struct predicate_test *t) {
    enum { JE = 0x84, JNE, JB = 0x82, JAE, JBE = 0x86, JA, JL = 0x8c, JGE, JLE, JG };
    static const uint8_t of_signed[] = {
        [TEST_EQUAL] = JE,    [TEST_UNEQUAL] = JNE, [TEST_LESS] = JL,
        [TEST_AT_MOST] = JLE, [TEST_MORE] = JG,     [TEST_AT_LEAST] = JGE};
    static const uint8_t of_unsigned[] = {
        [TEST_EQUAL] = JE,    [TEST_UNEQUAL] = JNE, [TEST_LESS] = JB,
        [TEST_AT_MOST] = JBE, [TEST_MORE] = JA,     [TEST_AT_LEAST] = JAE};
    return (t->is_signed && !t->masked ? of_signed : of_unsigned)[t->op];
}

/* NEXT: what follows the test. */
static void test(struct code *c, const struct predicate_test *t, int next) {
    enum { OPPOSITE = 1 };
    if (t->value.steps)
        load_memory(c, t);
    else
        load_first(c, &t->value, t->at);
    if (!is_narrow(t))
        extend(c, t);
    if (t->masked)
        mask(c, t->mask);
    compare(c, t);
    const uint8_t holds = jump_of(t);
    if (t->on_true == next) {
        jump_if(c, holds ^ OPPOSITE, t->on_false);
        return;
    }
    jump_if(c, holds, t->on_true);
    if (t->on_false != next)
        jump(c, t->on_false);
}

/* ---- calls that are kept ---- */

static int32_t kept(const struct code *c, unsigned field) {
    return (int32_t)(LANE_RING + c->stub->ring_bytes + field);
}

/* rcx becomes the stack pointer that the function had at its entry. */
static void load_call(struct code *c) {
    code_stack_address(c, CODE_RCX, (int64_t)c->up + c->stub->pops);
}

/* rax becomes the offset of the call's set. */
static void find_set(struct code *c) {
    enum { SP_ALIGN = 4 };
    INSN(c, "\x89\xc8\xc1\xe8\x06\x31\xc8");        /* mov %ecx,%eax; shr $6,%eax; xor %ecx,%eax */
    INSN32(c, "\x25", (KEPT_SETS - 1) << SP_ALIGN); /* and $…,%eax */
    INSN(c, "\xd1\xe0");                            /* shl %eax */
}
_Static_assert(KEPT_WAYS * sizeof(uint64_t) == 2 << 4, "the shift in find_set()");

/* Goes to TO if the call is in its set. rax becomes the offset in `sets` of its place there. */
static void seek(struct code *c, int to) {
    for (int i = 0; i < KEPT_WAYS; i++) {
        if (i)
            INSN(c, "\x83\xc0\x08");                          /* add $8,%eax */
        INSN32(c, "\x65\x48\x39\x88", kept(c, KEPT_IN_SETS)); /* cmp %rcx,%gs:SETS(%rax) */
        jump_if(c, IF_EQUAL, to);
    }
}

/* The last 32 bits of the instruction TEXT are a number in front of an immediate 0. */
static void compare_with_0(struct code *c, unsigned field) {
    INSN32(c, "\x65\x48\x83\x3c\x25", kept(c, field)); /* cmpq $0,%gs:field */
    INSN(c, "\x00");
}

/* Goes to TO_GO if the call is kept, and to TO_PASS if none is. An entry is to be kept if it shows
 * that others are over. */
static void look_up(struct code *c, bool is_entry) {
    compare_with_0(c, KEPT_COUNT);
    jump_if(c, IF_EQUAL, TO_PASS);
    load_call(c);
    INSN(c, "\x48\x89\xc8\x48\xf7\xd0");                   /* mov %rcx,%rax; not %rax */
    INSN32(c, "\x65\x48\x3b\x04\x25", kept(c, KEPT_FROM)); /* cmp %gs:FROM,%rax */
    jump_if(c, IF_BELOW_OR_EQUAL, is_entry ? TO_KEEP : TO_GO);
    if (is_entry) {
        INSN32(c, "\x65\x48\x3b\x04\x25", kept(c, KEPT_NEWEST)); /* cmp %gs:NEWEST,%rax */
        jump_if(c, IF_BELOW, TO_KEEP);
    }
    compare_with_0(c, KEPT_FULL);
    jump_if(c, IF_UNEQUAL, TO_GO);
    find_set(c);
    seek(c, TO_GO);
}

static void count(struct code *c, bool more) {
    if (more)
        INSN32(c, "\x65\x48\xff\x04\x25", kept(c, KEPT_COUNT)); /* incq %gs:COUNT */
    else
        INSN32(c, "\x65\x48\xff\x0c\x25", kept(c, KEPT_COUNT)); /* decq %gs:COUNT */
}

/* Adds the call, unless it is there already. The count is never too low, wherever the thread is
 * interrupted. */
static void keep(struct code *c) {
    size_t free_places[KEPT_WAYS];
    load_call(c);
    find_set(c);
    seek(c, TO_GO);
    for (int i = 0; i < KEPT_WAYS; i++) {
        if (i)
            INSN(c, "\x83\xe8\x08");                          /* sub $8,%eax */
        INSN32(c, "\x65\x48\x83\xb8", kept(c, KEPT_IN_SETS)); /* cmpq $0,%gs:SETS(%rax) */
        INSN(c, "\x00\x74\x00");                              /* je add */
        free_places[i] = c->size;
    }
    count(c, true);
    INSN32(c, "\x65\x48\xc7\x04\x25", kept(c, KEPT_FULL)); /* movq $1,%gs:FULL */
    code_number(c, 1);
    jump(c, TO_GO);
    for (int i = 0; i < KEPT_WAYS; i++)
        c->out[free_places[i] - 1] = (uint8_t)(c->size - free_places[i]);
    count(c, true);
    INSN32(c, "\x65\x48\x89\x88", kept(c, KEPT_IN_SETS));    /* mov %rcx,%gs:SETS(%rax) */
    INSN(c, "\x48\xf7\xd1");                                 /* not %rcx */
    INSN32(c, "\x65\x48\x89\x0c\x25", kept(c, KEPT_NEWEST)); /* mov %rcx,%gs:NEWEST */
}

/* Removes the call. */
static void end(struct code *c) {
    enum { FOUND = 0 };
    load_call(c);
    find_set(c);
    seek(c, FOUND);
    jump(c, TO_GO);
    label(c, FOUND);
    INSN32(c, "\x65\x48\xc7\x80", kept(c, KEPT_IN_SETS)); /* movq $0,%gs:SETS(%rax) */
    code_number(c, 0);
    count(c, false);
}

static void entry(struct code *c) {
    const struct predicate *p = c->stub->predicate;
    for (int i = (int)p->count - 1; i >= 0; i--) {
        label(c, i);
        test(c, &p->tests[i], i ? i - 1 : TO_FALSE);
    }
    label(c, TO_FALSE);
    look_up(c, true);
    jump(c, TO_PASS);
    label(c, TO_KEEP);
    keep(c);
    jump(c, TO_GO);
}

size_t judge_emit(const struct judge_code *code) {
    struct code c = {.out = code->out, .up = code->up, .saved = SAVED, .stub = code->stub};
    if (code->stub->judged == JUDGED_ENTRY) {
        entry(&c);
    } else if (code->stub->judged == JUDGED_EXIT) {
        look_up(&c, false);
    } else {
        end(&c);
        jump(&c, TO_GO);
    }
    label(&c, TO_PASS);
    code_set(&c, TO_GO, code->go);
    return c.size;
}

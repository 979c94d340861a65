/* The order of what judges calls (judge.h). */
#include "arch/judge.h"

enum { BEHIND_MOST_BYTES = 512 /* of what follows the tests */ };

struct judging {
    const struct judge_machine *machine;
    struct reading *ctx;
};

/* ---- tests ---- */

static void read_word(const struct judging *j, const struct predicate_test *t) {
    const struct value_reader *reader = j->machine->reader;
    if (!t->value.steps) {
        reader->begin(j->ctx, &t->value, t->at / 8, false);
        return;
    }
    j->ctx->otherwise = (int)t->on_false;
    capture_lead(reader, j->ctx, &t->value);
    reader->check_address(j->ctx);
    reader->load(j->ctx, t->size, t->at);
}

static enum predicate_op opposite(enum predicate_op op) {
    static const enum predicate_op opposites[] = {
        [TEST_EQUAL] = TEST_UNEQUAL, [TEST_UNEQUAL] = TEST_EQUAL, [TEST_LESS] = TEST_AT_LEAST,
        [TEST_AT_LEAST] = TEST_LESS, [TEST_MORE] = TEST_AT_MOST,  [TEST_AT_MOST] = TEST_MORE};
    return opposites[op];
}

/* NEXT: what follows the test. */
static void put_test(const struct judging *j, const struct predicate_test *t, int next) {
    read_word(j, t);
    j->machine->take_number(j->ctx, t);
    if (t->on_true == next) {
        j->machine->compare(j->ctx, t, opposite(t->op), t->on_false);
        return;
    }
    j->machine->compare(j->ctx, t, t->op, t->on_true);
    if (t->on_false != next)
        j->machine->jump(j->ctx, t->on_false);
}

/* ---- calls that are kept ---- */

/* Goes to LABEL if the call is in its set, with its place. */
static void seek(const struct judging *j, int label) {
    for (int i = 0; i < KEPT_WAYS; i++) {
        if (i)
            j->machine->next_place(j->ctx, false);
        j->machine->compare_place(j->ctx, false, label);
    }
}

static void find_call(const struct judging *j, int label) {
    j->machine->load_call(j->ctx);
    j->machine->find_set(j->ctx);
    seek(j, label);
}

/* Goes to JUDGE_GO if the call is kept, and to JUDGE_PASS if none is. An entry is to be kept if it
 * shows that others are over. */
static void look_up(const struct judging *j, bool is_entry) {
    const struct judge_machine *m = j->machine;
    m->test_field(j->ctx, KEPT_COUNT, false, JUDGE_PASS);
    m->load_call(j->ctx);
    m->compare_call(j->ctx, KEPT_FROM, false, is_entry ? JUDGE_KEEP : JUDGE_GO);
    if (is_entry)
        m->compare_call(j->ctx, KEPT_NEWEST, true, JUDGE_KEEP);
    m->test_field(j->ctx, KEPT_FULL, true, JUDGE_GO);
    m->find_set(j->ctx);
    seek(j, JUDGE_GO);
}

/* Adds the call, unless it is there already. The count is never too low, wherever the thread is
 * interrupted. Once all calls are recorded, it stays as it is. */
static void keep(const struct judging *j) {
    const struct judge_machine *m = j->machine;
    find_call(j, JUDGE_GO);
    for (int i = 0; i < KEPT_WAYS; i++) {
        if (i)
            m->next_place(j->ctx, true);
        m->compare_place(j->ctx, true, JUDGE_FREE);
    }
    m->test_field(j->ctx, KEPT_FULL, true, JUDGE_GO);
    m->count(j->ctx, true);
    m->set_full(j->ctx);
    m->jump(j->ctx, JUDGE_GO);
    m->begin_label(j->ctx, JUDGE_FREE);
    m->count(j->ctx, true);
    m->set_place(j->ctx, false);
    m->set_newest(j->ctx);
}

static void end(const struct judging *j) {
    const struct judge_machine *m = j->machine;
    find_call(j, JUDGE_FOUND);
    m->jump(j->ctx, JUDGE_GO);
    m->begin_label(j->ctx, JUDGE_FOUND);
    m->set_place(j->ctx, true);
    m->count(j->ctx, false);
}

/* ---- the whole ---- */

/* Whether there is room for one more test and what follows the tests. */
static bool has_room(const struct judging *j) {
    const size_t size = j->machine->size(j->ctx) - j->ctx->start;
    return size + j->machine->test_most_bytes + BEHIND_MOST_BYTES <= STUB_CAPTURE_BYTES;
}

static bool put_entry(const struct judging *j, const struct predicate *p) {
    const struct judge_machine *m = j->machine;
    for (int i = (int)p->count - 1; i >= 0; i--) {
        if (!has_room(j))
            return false;
        m->begin_label(j->ctx, i);
        put_test(j, &p->tests[i], i ? i - 1 : JUDGE_FALSE);
    }
    m->begin_label(j->ctx, JUDGE_FALSE);
    m->find_kept(j->ctx);
    look_up(j, true);
    m->jump(j->ctx, JUDGE_PASS);
    m->begin_label(j->ctx, JUDGE_TRUE);
    m->find_kept(j->ctx);
    m->begin_label(j->ctx, JUDGE_KEEP);
    keep(j);
    m->jump(j->ctx, JUDGE_GO);
    return true;
}

bool judge_put(const struct judge_machine *machine, struct reading *r) {
    const struct judging j = {machine, r};
    if (r->stub->judged == JUDGED_ENTRY)
        return put_entry(&j, r->stub->predicate);
    machine->find_kept(r);
    if (r->stub->judged == JUDGED_EXIT) {
        look_up(&j, false);
    } else {
        end(&j);
        machine->jump(r, JUDGE_GO);
    }
    return true;
}

/* ---- all calls ---- */

/* The stack pointer, REG, is not 0. */
#define ALWAYS(reg_, bytes_)                                                                       \
    {                                                                                              \
        .value = {.from = FROM_REGISTER, .reg = (reg_), .bytes = (bytes_), .length_of = -1},       \
        .size = 8, .bits = 8 * (bytes_), .op = TEST_UNEQUAL, .on_true = PREDICATE_TRUE,            \
        .on_false = PREDICATE_FALSE                                                                \
    }
const struct predicate *judge_always(int sp_register) {
    enum { X86_64_SP = 7, ARM_SP = 13, A64_SP = 31 };
    static struct predicate_test x86_64 = ALWAYS(X86_64_SP, 8), arm = ALWAYS(ARM_SP, 4),
                                 a64 = ALWAYS(A64_SP, 8);
    static const struct predicate all[] = {{&x86_64, 1}, {&arm, 1}, {&a64, 1}};
    const struct predicate *p = all;
    while (p->tests->value.reg != sp_register)
        p++;
    return p;
}

/*
 * Makes predicates. Tests are made from the last one to the first, so that each knows where it
 * leads.
 */
#include "values/predicate.h"

#include <stdlib.h>
#include <string.h>

#include "values/condition_node.h"
#include "values/image.h"
#include "values/slots.h"

struct maker {
    const struct operand_reader *readers;
    const struct capture *capture;
    struct predicate *predicate;
    bool full;
};

struct leads {
    int8_t on_true, on_false;
};

/* ---- where an operand is ---- */

static uint64_t first_bit(const struct capture_value *v) {
    return image_is_shifted(v) ? v->shift : 0;
}

static uint64_t bit_count(const struct capture_value *v) {
    return image_is_shifted(v) ? v->width : v->bytes * UINT64_C(8);
}

static bool is_integers(const struct capture_value *v) {
    return !v->string && !v->address_only && !v->minus && !v->only_if && capture_value_records(v);
}

/* The value that has the COUNT bits from bit AT of the item of PLACE on; NULL: none, or several. */
static const struct capture_value *
value_with(const struct capture *c, const struct part_place *place, uint64_t at, uint64_t count) {
    const struct capture_value *found = NULL;
    for (size_t i = place->first; i < place->first + place->count; i++) {
        const struct capture_value *v = &c->values[i];
        const uint64_t start = v->at * UINT64_C(8), end = start + bit_count(v);
        if (v->string || end <= at || start >= at + count)
            continue;
        if (found || start > at || end < at + count || !is_integers(v))
            return NULL;
        found = v;
    }
    return found;
}

/* The bits of a value in registers and on the stack are those of a word, which is loaded whole. */
static bool set_in_words(struct predicate_test *t, uint64_t bit) {
    t->at = (uint16_t)(bit / 64 * 8);
    t->size = 8;
    t->shift = (uint8_t)(bit % 64);
    return t->shift + t->bits <= 64 && (t->value.from == FROM_STACK || !t->at);
}

/* Those of a value in memory are loaded at once, with nothing that does not belong to the value. */
static bool set_in_memory(struct predicate_test *t, uint64_t bit) {
    const uint64_t first = bit / 8, end = (bit + t->bits + 7) / 8;
    for (unsigned size = 1; size <= 8; size *= 2) {
        if (end - first > size || size > t->value.bytes)
            continue;
        const uint64_t at = first + size <= t->value.bytes ? first : t->value.bytes - size;
        t->at = (uint16_t)at;
        t->size = (uint8_t)size;
        t->shift = (uint8_t)(bit - at * 8);
        return true;
    }
    return false;
}

/* Sets T's place to that of R's integer. False: a stub cannot load it. */
static bool set_place(const struct maker *m, const struct part_reader *r,
                      struct predicate_test *t) {
    const struct part_place *p = &r->place;
    if (r->form != PART_INTEGER)
        return false;
    const uint64_t bits = p->bits ? p->bits : r->size * 8, at = p->bits ? p->bit_at : p->at * 8;
    const struct capture_value *v = value_with(m->capture, p, at, bits);
    if (!v || (v->from != FROM_REGISTER && v->from != FROM_STACK && v->from != FROM_STACK_ADDRESS))
        return false;
    t->value = *v;
    t->value.name = NULL;
    t->bits = (uint8_t)bits;
    t->is_signed = r->is_signed;
    const uint64_t bit = at - v->at * UINT64_C(8) + first_bit(v);
    return v->steps ? set_in_memory(t, bit) : v->from != FROM_STACK_ADDRESS && set_in_words(t, bit);
}

/* ---- comparisons ---- */

/* The order of all values of T and CONSTANT: −1 or 1; 0: it depends on the value. Sets T's
 * constant. */
static int order_to(struct predicate_test *t, const struct plain_value *constant) {
    const unsigned bits = t->masked ? 64 : t->bits;
    const bool is_signed = t->is_signed && !t->masked;
    const uint64_t most = UINT64_MAX >> (64 - bits) >> is_signed;
    t->constant = constant->negative ? -constant->magnitude : constant->magnitude;
    if (!constant->negative)
        return constant->magnitude > most ? -1 : 0;
    return !is_signed || constant->magnitude > most + 1 ? 1 : 0;
}

/* Whether the value of V is known without a look at the program. Sets *RET to it. */
static bool is_constant(const struct maker *m, const struct compared *v, struct plain_value *ret) {
    const struct operand_reader *r = v->is_expression ? &m->readers[v->number] : NULL;
    if (r && r->place != READER_CONSTANT)
        return false;
    *ret = r ? r->constant : v->constant;
    condition_mask(v, ret);
    return ret->kind == PLAIN_INTEGER;
}

static enum condition_op negated(enum condition_op op) {
    static const enum condition_op opposite[] = {
        [COMPARE_EQUAL] = COMPARE_UNEQUAL, [COMPARE_UNEQUAL] = COMPARE_EQUAL,
        [COMPARE_LESS] = COMPARE_AT_LEAST, [COMPARE_AT_MOST] = COMPARE_MORE,
        [COMPARE_MORE] = COMPARE_AT_MOST,  [COMPARE_AT_LEAST] = COMPARE_LESS};
    return opposite[op];
}

/* OP with its operands exchanged. */
static enum condition_op turned(enum condition_op op) {
    static const enum condition_op other[] = {
        [COMPARE_EQUAL] = COMPARE_EQUAL, [COMPARE_UNEQUAL] = COMPARE_UNEQUAL,
        [COMPARE_LESS] = COMPARE_MORE,   [COMPARE_AT_MOST] = COMPARE_AT_LEAST,
        [COMPARE_MORE] = COMPARE_LESS,   [COMPARE_AT_LEAST] = COMPARE_AT_MOST};
    return other[op];
}

/* Adds T, and returns its number. */
static int8_t add(struct maker *m, const struct predicate_test *t) {
    struct predicate *p = m->predicate;
    if (p->count == PREDICATE_MOST_TESTS) {
        m->full = true;
        return t->on_true;
    }
    p->tests = mem_resize(p->tests, p->count + 1, sizeof *p->tests);
    p->tests[p->count] = *t;
    return (int8_t)p->count++;
}

static int8_t compare(struct maker *m, const struct condition_node *n, bool negate,
                      struct leads leads) {
    struct predicate_test t = {.on_true = leads.on_true, .on_false = leads.on_false};
    struct plain_value constant;
    const bool turn = is_constant(m, &n->values[0], &constant);
    const struct compared *v = &n->values[turn];
    const struct operand_reader *r = v->is_expression ? &m->readers[v->number] : NULL;
    enum condition_op op = turn ? turned(n->op) : n->op;
    op = negate ? negated(op) : op;
    if (!r || r->place != READER_RECORDED || leads.on_true == leads.on_false ||
        (!turn && !is_constant(m, &n->values[1], &constant)) || !set_place(m, &r->reader, &t))
        return leads.on_true;
    t.masked = v->masked;
    t.mask = v->mask;
    t.op = (enum predicate_op)(op - COMPARE_EQUAL);
    const int order = order_to(&t, &constant);
    if (order)
        return condition_fits(op, order) ? leads.on_true : leads.on_false;
    return add(m, &t);
}
_Static_assert(TEST_EQUAL == 0 && TEST_AT_LEAST == COMPARE_AT_LEAST - COMPARE_EQUAL,
               "the same order");

/* Adds the tests of N. Returns the number of the first one to be made, or where all leads. */
static int8_t make(struct maker *m, const struct condition_node *n, bool negate,
                   struct leads leads) {
    if (condition_compares(n))
        return compare(m, n, negate, leads);
    if (n->op == CONDITION_NOT)
        return make(m, n->left, !negate, leads);
    const bool either = (n->op == CONDITION_OR) != negate;
    const int8_t right = make(m, n->right, negate, leads);
    const struct leads left = {either ? leads.on_true : right, either ? right : leads.on_false};
    return make(m, n->left, negate, left);
}

void predicate_init(const struct condition *c, const struct operand_reader *readers,
                    const struct capture *capture, struct predicate *ret) {
    struct maker m = {.readers = readers, .capture = capture, .predicate = ret};
    *ret = (struct predicate){0};
    const int8_t first = make(&m, c->root, false, (struct leads){PREDICATE_TRUE, PREDICATE_FALSE});
    if (m.full || first < 0 || (size_t)first + 1 != ret->count)
        predicate_done(ret);
}

void predicate_done(struct predicate *p) {
    free(p->tests);
    *p = (struct predicate){0};
}

/* Captures in pieces that are never moved, so that readers need no lock. */
#include "trace/captures.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trace/type_table.h"
#include "values/slots.h"

enum { PIECE = 1024, PIECES = 16384 };

struct captures {
    atomic_uint count, longest;
    atomic_bool has_conditions;
    struct numbered_capture *_Atomic pieces[PIECES];
    struct types *types; /* numbers of the trace */
    struct types_copy *copy;
    type_id described; /* types below are in records */
    uint32_t record_count;
    struct bytes *_Atomic records[PIECES]; /* each of PIECE, of types */
};

struct captures *captures_new(void) {
    return mem_alloc(sizeof(struct captures));
}

static void forget_triggers(struct numbered_capture *n) {
    for (size_t i = 0; i < n->triggers.count; i++)
        free(n->triggers.at[i].readers);
    ARRAY_FREE(&n->triggers);
}

void captures_free(struct captures *c) {
    for (unsigned i = 0; c && i < c->count; i++) {
        capture_done(&c->pieces[i / PIECE][i % PIECE].capture);
        free(c->pieces[i / PIECE][i % PIECE].readers);
        forget_triggers(&c->pieces[i / PIECE][i % PIECE]);
        predicate_done(&c->pieces[i / PIECE][i % PIECE].predicate);
    }
    for (uint32_t i = 0; c && i < c->record_count; i++)
        free(c->records[i / PIECE][i % PIECE].at);
    for (unsigned i = 0; c && i < PIECES; i++) {
        free(c->pieces[i]);
        free(c->records[i]);
    }
    if (c) {
        types_copy_free(c->copy);
        types_free(c->types);
    }
    free(c);
}

/* ---- types ---- */

void captures_set_types(struct captures *c, struct types *graph) {
    c->types = types_new();
    c->copy = types_copy_new(graph, c->types, true);
    c->described = types_count(c->types);
}

const struct bytes *captures_types(const struct captures *c, uint32_t i) {
    return &c->records[i / PIECE][i % PIECE];
}

/* Gives N's types numbers of the trace, and describes those that are new. */
static void take_types(struct captures *c, struct numbered_capture *n) {
    for (size_t i = 0; c->copy && i < n->capture.count; i++)
        n->capture.values[i].type = types_copy_add(c->copy, n->capture.values[i].type);
    const type_id end = c->types ? types_count(c->types) : 0;
    if (end > c->described && c->record_count < PIECE * PIECES) {
        if (!c->records[c->record_count / PIECE])
            c->records[c->record_count / PIECE] = mem_alloc(PIECE * sizeof(struct bytes));
        type_table_put(&c->records[c->record_count / PIECE][c->record_count % PIECE], c->types,
                       c->described, end);
        c->record_count++;
        c->described = end;
    }
    n->types = c->record_count;
}

static struct operand_reader *readers_new(struct captures *c, const struct numbered_capture *n,
                                          const struct condition *condition) {
    struct operand_reader *readers =
        mem_alloc((condition_operand_count(condition) + 1) * sizeof *readers);
    condition_bind(condition, c->types, &n->capture, readers);
    return readers;
}

static void bind(struct captures *c, struct numbered_capture *n,
                 const struct condition *condition) {
    if (!condition || !c->types)
        return;
    n->readers = readers_new(c, n, condition);
    n->condition = condition;
    if (n->capture.kind == EVENT_ENTRY)
        predicate_init(condition, n->readers, &n->capture, &n->predicate);
    atomic_store_explicit(&c->has_conditions, true, memory_order_relaxed);
}

uint32_t captures_add(struct captures *c, uint32_t id, const struct capture *capture,
                      const struct condition *condition) {
    const unsigned number = c->count, slots = capture_slots(capture);
    if (number == PIECE * PIECES)
        return number - 1; /* it is not of the function, so readers ignore it */
    if (!c->pieces[number / PIECE])
        c->pieces[number / PIECE] = mem_alloc(PIECE * sizeof(struct numbered_capture));
    struct numbered_capture *n = &c->pieces[number / PIECE][number % PIECE];
    n->id = id;
    capture_copy(&n->capture, capture);
    n->all = c;
    take_types(c, n);
    bind(c, n, condition);
    for (size_t i = 0; i < capture->count; i++)
        n->words += capture_value_words(&capture->values[i]);
    if (slots > c->longest)
        c->longest = slots;
    atomic_store_explicit(&c->count, number + 1, memory_order_release);
    return number;
}

void captures_add_trigger(struct captures *c, uint32_t number,
                          const struct trigger_condition *trigger) {
    struct numbered_capture *n = &c->pieces[number / PIECE][number % PIECE];
    struct trigger_condition t = *trigger;
    if (!c->types)
        return;
    t.readers = readers_new(c, n, t.condition);
    ARRAY_PUSH(&n->triggers, t);
}

const struct numbered_capture *captures_get(const struct captures *c, uint32_t number) {
    if (!c || number >= atomic_load_explicit(&c->count, memory_order_acquire))
        return NULL;
    return &c->pieces[number / PIECE][number % PIECE];
}

unsigned captures_longest(const struct captures *c) {
    return c ? atomic_load_explicit(&c->longest, memory_order_relaxed) : 0;
}

bool captures_have_conditions(const struct captures *c) {
    return c && atomic_load_explicit(&c->has_conditions, memory_order_relaxed);
}

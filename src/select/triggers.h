/*
 * The functions that --trigger names, as a table by function id. The tracer adds modules before
 * their functions are patched; the thread that drains rings reads.
 */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"

struct trigger_rule {     /* of a function */
    const char *at_entry; /* the trigger that fires at an entry, as typed; NULL: none */
    const char *at_exit;  /* the same at an exit of a call that took longer than: */
    uint64_t longer_ticks;
};

struct trigger_table {
    uint32_t count;    /* functions with smaller ids are known */
    uint32_t *rule_of; /* by id: number in rules + 1; 0: none */
    const struct trigger_rule *rules;
};

struct triggers;

/* NULL: OPTIONS has no trigger. */
struct triggers *triggers_new(const struct record_options *options);
void triggers_free(struct triggers *t);
/* Looks for the functions of M, of which some have just been selected. */
void triggers_add_module(struct triggers *t, const struct traced_module *m);
/* Returns −ENOENT "no-match" if a trigger matches no function that is traced so far. */
int triggers_check(const struct triggers *t, struct err *err);
/* Never changes; lives until triggers_free(). */
const struct trigger_table *triggers_table(const struct triggers *t);

static inline const struct trigger_rule *trigger_rule_of(const struct trigger_table *t,
                                                         uint32_t id) {
    return id < t->count && t->rule_of[id] ? &t->rules[t->rule_of[id] - 1] : NULL;
}

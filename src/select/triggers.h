/*
 * The functions that --trigger or --while names, as a table by function id. The tracer's thread
 * adds modules before their functions are patched. The drainer reads.
 */
#pragma once

#include "select/options.h"
#include "select/traced_module.h"

/* The triggers of a function, as typed. NULL: none. */
struct trigger_rule {
    bool asks_at_exit;    /* conditions of triggers are judged at exits (trace/captures.h) */
    const char *at_entry; /* fires at each entry */
    const char *at_exit;  /* fires at the end of a call that took longer than longer_ticks */
    uint64_t longer_ticks;
};

struct trigger_table {
    uint32_t count;    /* the table has functions with smaller ids */
    uint32_t *rule_of; /* by id: number in rules + 1; 0: none */
    const struct trigger_rule *rules;
};

struct triggers;

/* Returns NULL if LIST is empty. LIST must outlive the triggers. OPTION: which one it is of, for
 * messages. */
struct triggers *triggers_new(const trigger_list *list, const char *option);
void triggers_free(struct triggers *t);
/* Adds the functions of M that triggers match. To be called when functions of M were selected. */
void triggers_add_module(struct triggers *t, const struct traced_module *m);
/* Returns −ENOENT if a trigger matches no function so far ("no-match"), or none that is traced
 * ("untraceable"). */
int triggers_check(const struct triggers *t, struct err *err);
/* The newest table. It never changes, and lives until triggers_free(). */
const struct trigger_table *triggers_table(const struct triggers *t);

static inline const struct trigger_rule *trigger_rule_of(const struct trigger_table *t,
                                                         uint32_t id) {
    return id < t->count && t->rule_of[id] ? &t->rules[t->rule_of[id] - 1] : NULL;
}

/* Makes a new table for each module that is added; older tables stay valid for their readers. */
#include "select/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bitmap.h"
#include "select/select.h"
#include "target/timing.h"

struct search { /* for the functions of one trigger */
    const struct trigger *trigger;
    struct selection selection;
    uint8_t *matches; /* bitmap by function of the present module */
    size_t functions; /* traced functions that match, of all modules */
};

struct triggers {
    const char *option;
    struct search *searches;
    size_t count;
    ARRAY(struct trigger_table *) tables; /* the newest last; readers may still use older ones */
    struct trigger_table *newest;         /* atomic */
};

/* A rule has one of the triggers or none at entries, and likewise at exits;
 * conditions are judged at its exits or not. */
static size_t most_rules(const struct triggers *t) { return 2 * (t->count + 1) * (t->count + 1); }

/* A table of functions with ids below COUNT, with the rules of the newest table. */
static struct trigger_table *table_new(const struct triggers *of, uint32_t count) {
    struct trigger_table *t = mem_alloc(sizeof *t);
    t->count = count;
    t->rule_of = mem_alloc(count * sizeof *t->rule_of);
    t->rules = mem_alloc(most_rules(of) * sizeof *t->rules);
    const struct trigger_table *old = of->newest;
    if (old) {
        memcpy(t->rule_of, old->rule_of, old->count * sizeof *old->rule_of);
        memcpy((void *)t->rules, old->rules, most_rules(of) * sizeof *old->rules);
    }
    return t;
}

static void publish(struct triggers *t, struct trigger_table *table) {
    ARRAY_PUSH(&t->tables, table);
    __atomic_store_n(&t->newest, table, __ATOMIC_RELEASE);
}

const struct trigger_table *triggers_table(const struct triggers *t) {
    return __atomic_load_n(&t->newest, __ATOMIC_ACQUIRE);
}

struct triggers *triggers_new(const trigger_list *list, const char *option) {
    if (!list->count)
        return NULL;
    struct triggers *t = mem_alloc(sizeof *t);
    t->option = option;
    t->count = list->count;
    t->searches = mem_alloc(t->count * sizeof *t->searches);
    for (size_t i = 0; i < t->count; i++) {
        struct search *s = &t->searches[i];
        s->trigger = &list->at[i];
        selection_init(&s->selection, &s->trigger->filter);
    }
    publish(t, table_new(t, 0));
    return t;
}

void triggers_free(struct triggers *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        selection_done(&t->searches[i].selection);
    for (size_t i = 0; i < t->tables.count; i++) {
        free(t->tables.at[i]->rule_of);
        free((void *)t->tables.at[i]->rules);
        free(t->tables.at[i]);
    }
    ARRAY_FREE(&t->tables);
    free(t->searches);
    free(t);
}

/* The rule of FUNCTION. Of several triggers for long calls, the one that fires first counts. */
static struct trigger_rule rule_of(struct triggers *t, size_t function) {
    struct trigger_rule rule = {.longer_ticks = UINT64_MAX};
    for (size_t i = 0; i < t->count; i++) {
        struct search *s = &t->searches[i];
        if (!bitmap_test(s->matches, function))
            continue;
        s->functions++;
        uint64_t ticks = s->trigger->at_exit ? timing_ticks(s->trigger->longer_ns) : 0;
        if (s->trigger->filter.captures.count) {
            rule.asks_at_exit |= s->trigger->at_exit;
        } else if (!s->trigger->at_exit) {
            rule.at_entry = s->trigger->text;
        } else if (ticks < rule.longer_ticks) {
            rule.at_exit = s->trigger->text;
            rule.longer_ticks = ticks;
        }
    }
    return rule;
}

/* The number of RULE in TABLE, counted from 1. 0: RULE has no trigger. */
static uint32_t number_of(struct trigger_table *table, const struct trigger_rule *rule) {
    struct trigger_rule *rules = (struct trigger_rule *)table->rules;
    if (!rule->at_entry && !rule->at_exit && !rule->asks_at_exit)
        return 0;
    uint32_t i = 0; /* two rules with the same texts are the same */
    while ((rules[i].at_entry || rules[i].at_exit || rules[i].asks_at_exit) &&
           (rules[i].at_entry != rule->at_entry || rules[i].at_exit != rule->at_exit ||
            rules[i].asks_at_exit != rule->asks_at_exit))
        i++;
    rules[i] = *rule;
    return i + 1;
}

static bool is_traced(const struct traced_module *m, size_t i) {
    return bitmap_test(m->choice.selected, i) && plan_function(m->plan, i)->entry != TIER_NONE;
}

void triggers_add_module(struct triggers *t, const struct traced_module *m) {
    size_t n = plan_function_count(m->plan), ignored;
    const struct trigger_table *old = triggers_table(t);
    uint32_t end = m->first_id + (uint32_t)n;
    struct trigger_table *table = table_new(t, end > old->count ? end : old->count);
    for (size_t i = 0; i < t->count; i++)
        t->searches[i].matches =
            selection_apply(&t->searches[i].selection, m->module, m->plan, &ignored);
    for (size_t i = 0; i < n; i++) {
        struct trigger_rule rule = {0};
        if (is_traced(m, i))
            rule = rule_of(t, i);
        table->rule_of[m->first_id + i] = number_of(table, &rule);
    }
    for (size_t i = 0; i < t->count; i++)
        free(t->searches[i].matches);
    publish(t, table);
}

static int no_match(const char *option, const struct search *s, struct err *err) {
    const struct selection *found = &s->selection;
    if (!found->matched)
        return selection_no_match(found, 0, option, s->trigger->text, err);
    return err_set(err, ENOENT, "untraceable",
                   "%s '%s': matches %zu function%s, none of which is traced: choose it "
                   "with -F, -N and -M ('spoor explain' tells which can be)",
                   option, s->trigger->text, found->matched, found->matched == 1 ? "" : "s");
}

int triggers_check(const struct triggers *t, struct err *err) {
    for (size_t i = 0; t && i < t->count; i++)
        if (!t->searches[i].functions)
            return no_match(t->option, &t->searches[i], err);
    return 0;
}

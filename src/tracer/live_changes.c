/* Carries out what the user changes while programs run: a pause, its end, another filter. */
#include <errno.h>

#include "patch/modules.h"
#include "target/timing.h"
#include "tracer/repatch.h"
#include "tracer/reports.h"
#include "tracer/trace_changes.h"
#include "tracer/tracer.h"

int tracer_pause(struct tracer *t, uint64_t *ret_ns, struct err *err) {
    *ret_ns = 0;
    t->options.context.paused = true;
    t->change_cause = PAUSE_FILTER;
    return repatch_all(t, ret_ns, err);
}

int tracer_unpause(struct tracer *t, uint64_t *ret_ns, struct err *err) {
    *ret_ns = 0;
    t->options.context.paused = false;
    t->change_cause = PAUSE_FILTER;
    return repatch_all(t, ret_ns, err);
}

bool tracer_paused(const struct tracer *t) { return t->options.context.paused; }

static void each_space(struct tracer *t, void (*visit)(struct tracer *, struct space *)) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        bool first = k->space && k->space->agent && task_is_ready(k);
        for (struct task *b = tasks_next(&t->tasks, NULL); first && b != k;
             b = tasks_next(&t->tasks, b))
            first = b->space != k->space || !task_is_ready(b);
        if (first)
            visit(t, k->space);
    }
}

static void write_prepared(struct tracer *t, struct space *space) {
    space_write_prepared(&t->options.context, space);
}

static void forget_prepared(struct tracer *t, struct space *space) {
    (void)t;
    space_forget_prepared(space);
}

static int check_choice(const struct tracer *t, struct err *err) {
    const struct module_table *table = t->options.context.module_table;
    int rc = module_table_check_matches(table, err);
    if (rc == 0 && !module_table_selected(table))
        return err_set(err, ENOENT, "no-match", "no function of what is loaded is chosen");
    return rc < 0 ? rc : module_table_check_specs(table, err);
}

enum { EXEC_NS = 20000000 };

/* Prepares the functions that FILTER chooses, unless that must wait for the end of a pause. On
 * error nothing has changed. */
static int try_choice(struct tracer *t, const struct filter *filter, struct err *err) {
    const struct space_context *ctx = &t->options.context;
    module_table_choose(ctx->module_table, filter);
    each_space(t, repatch_prepare);
    int rc = check_choice(t, err);
    if (rc < 0 || ctx->paused)
        each_space(t, forget_prepared);
    if (rc < 0)
        module_table_undo_choice(ctx->module_table);
    return rc;
}

/* While a process executes another program nothing is mapped in it. So a filter that matches
 * nothing is tried once more, and again for as long as an exec may take. */
int tracer_change_filter(struct tracer *t, const struct filter *filter, uint64_t *ret_ns,
                         struct err *err) {
    struct space_context *ctx = &t->options.context;
    *ret_ns = 0;
    if (options_of(t)->libcalls)
        return err_set(err, ENOTSUP, "libcalls",
                       "with --libcalls the filter cannot be changed: record again");
    int rc = try_choice(t, filter, err);
    uint64_t begin = timing_now().ns;
    for (int i = 0; rc < 0 && (i == 0 || timing_now().ns - begin < EXEC_NS); i++) {
        reports_wait_ms();
        reports_handle(t);
        rc = try_choice(t, filter, err);
    }
    if (rc < 0)
        return rc;
    size_t added, removed;
    module_table_keep_choice(ctx->module_table, &added, &removed);
    trace_changes_filter(t, filter, added, removed);
    ctx->filter++;
    t->change_cause = PAUSE_FILTER;
    each_space(t, write_prepared);
    return repatch_all(t, ret_ns, err);
}

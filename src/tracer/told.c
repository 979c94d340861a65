/*
 * What the trace is told of changes while programs run: pauses, other functions chosen, processes
 * that are left while the recording goes on.
 */
#include "arch/clock.h"
#include "base/filter.h"
#include "tracer/tracer_parts.h"

static void tell(const struct tracer *t, pid_t pid, enum trace_change_kind kind, uint64_t ticks) {
    struct trace_writer *w = t->options.context.writer;
    if (w)
        trace_writer_change(
            w, &(struct trace_change){.ticks = ticks, .kind = kind, .pid = (uint32_t)pid});
}

void tell_change(const struct tracer *t, pid_t pid, enum trace_change_kind kind) {
    tell(t, pid, kind, clock_ticks());
}

/* Several processes may share SPACE, for a while (vfork) or as long as they live. */
void tell_change_of_space(const struct tracer *t, const struct space *space,
                          enum trace_change_kind kind, uint64_t ticks) {
    tid_array told = {0};
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        size_t i = 0;
        while (i < told.count && told.at[i] != k->pid)
            i++;
        if (k->space != space || !k->pid || i < told.count)
            continue;
        ARRAY_PUSH(&told, k->pid);
        tell(t, k->pid, kind, ticks);
    }
    ARRAY_FREE(&told);
}

void tell_of_program(const struct tracer *t, const struct task *task, bool was_lifted) {
    bool lifted = task->space && space_is_paused(task->space);
    if (lifted)
        tell_change(t, task->pid, TRACE_PAUSED);
    else if (was_lifted)
        tell_change(t, task->pid, TRACE_RESUMED);
}

void tell_choice(const struct tracer *t, const struct filter *filter, size_t added,
                 size_t removed) {
    AUTO_FREE char *text = filter_text(filter);
    trace_writer_change(t->options.context.writer, &(struct trace_change){.ticks = clock_ticks(),
                                                                          .kind = TRACE_CHOSEN,
                                                                          .added = added,
                                                                          .removed = removed,
                                                                          .filter = text});
}

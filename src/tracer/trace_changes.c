/* Writes records of changes. */
#include "tracer/trace_changes.h"

#include "arch/clock.h"
#include "base/filter.h"

static void write_change(const struct tracer *t, pid_t pid, enum trace_change_kind kind,
                         uint64_t ticks) {
    struct trace_writer *w = t->options.context.writer;
    if (w)
        trace_writer_change(
            w, &(struct trace_change){.ticks = ticks, .kind = kind, .pid = (uint32_t)pid});
}

void trace_changes_process(const struct tracer *t, pid_t pid, enum trace_change_kind kind) {
    write_change(t, pid, kind, clock_ticks());
}

/* Several processes may share SPACE: during vfork(), or as long as they live. */
void trace_changes_space(const struct tracer *t, const struct space *space,
                         enum trace_change_kind kind, uint64_t ticks) {
    tid_array pids = tracer_pids_of(t, space);
    for (size_t i = 0; i < pids.count; i++)
        write_change(t, pids.at[i], kind, ticks);
    ARRAY_FREE(&pids);
}

void trace_changes_program(const struct tracer *t, const struct task *task, bool was_paused) {
    bool paused = task->space && space_is_paused(task->space);
    if (paused)
        trace_changes_process(t, task->pid, TRACE_PAUSED);
    else if (was_paused)
        trace_changes_process(t, task->pid, TRACE_RESUMED);
}

void trace_changes_filter(const struct tracer *t, const struct filter *filter, size_t added,
                          size_t removed) {
    AUTO_FREE char *text = filter_text(filter);
    trace_writer_change(t->options.context.writer, &(struct trace_change){.ticks = clock_ticks(),
                                                                          .kind = TRACE_CHOSEN,
                                                                          .added = added,
                                                                          .removed = removed,
                                                                          .filter = text});
}

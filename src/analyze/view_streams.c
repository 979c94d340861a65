/* See view_streams.h. Says what the trace has instead of a thread or process that it has not. */
#include "analyze/view_streams.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "analyze/processes.h"
#include "analyze/suggest.h"

static int check_thread(const struct view_spec *spec, const struct trace_reader *r,
                        struct err *err) {
    if (!spec->tid)
        return 0;
    uint32_t near = 0;
    for (size_t i = 0; i < trace_reader_stream_count(r); i++) {
        uint32_t tid = trace_reader_thread(r, i)->tid;
        int64_t distance = (int64_t)tid - spec->tid, best = (int64_t)near - spec->tid;
        if (!distance)
            return 0;
        if (tid && (!near || llabs(distance) < llabs(best)))
            near = tid;
    }
    if (!near)
        return err_set(err, ENOENT, "no-thread", "thread %u: the trace has no threads", spec->tid);
    return err_set(err, ENOENT, "no-thread",
                   "thread %u: is not in the trace (the nearest is %u; 'spoor info' lists them)",
                   spec->tid, near);
}

static int check_pid(const struct view_spec *spec, const struct trace_reader *r, struct err *err) {
    for (size_t i = 0; spec->pid && i < trace_reader_process_count(r); i++)
        if (trace_reader_process(r, i)->pid == spec->pid)
            return 0;
    for (size_t i = 0; spec->pid && i < trace_reader_stream_count(r); i++)
        if (trace_reader_thread(r, i)->pid == spec->pid)
            return 0;
    if (!spec->pid)
        return 0;
    return err_set(err, ENOENT, "no-process",
                   "process %u: is not in the trace ('spoor info' lists them)", spec->pid);
}

static int check_name(const char *glob, const struct trace_reader *r, struct err *err) {
    for (size_t i = 0; i < trace_reader_process_count(r); i++)
        if (fnmatch(glob, trace_reader_process(r, i)->command, 0) == 0)
            return 0;
    char near[SUGGEST_ROOM];
    suggest_processes(r, glob, near);
    return err_set(err, ENOENT, "no-process", "process '%s': matches no process of the trace%s",
                   glob, near);
}

/* True if one of the names matches, or there are none. */
static bool has_name(const struct view_spec *spec, const struct trace_reader *r, uint32_t stream) {
    if (!spec->processes.count)
        return true;
    const char *name = process_name(r, process_of(r, stream));
    for (size_t i = 0; i < spec->processes.count; i++)
        if (fnmatch(spec->processes.at[i], name, 0) == 0)
            return true;
    return false;
}

static bool shows(const struct view_spec *spec, const struct trace_reader *r, uint32_t stream) {
    const struct trace_thread *t = trace_reader_thread(r, stream);
    return (!spec->tid || spec->tid == t->tid) && (!spec->pid || spec->pid == t->pid) &&
           has_name(spec, r, stream);
}

int view_streams(const struct view_spec *spec, const struct trace_reader *r, uint8_t **ret,
                 struct err *err) {
    int rc = check_thread(spec, r, err);
    rc = rc ? rc : check_pid(spec, r, err);
    for (size_t i = 0; i < spec->processes.count && !rc; i++)
        rc = check_name(spec->processes.at[i], r, err);
    *ret = NULL;
    if (rc || (!spec->tid && !spec->pid && !spec->processes.count))
        return rc;
    *ret = mem_alloc(trace_reader_stream_count(r) + 1);
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++)
        (*ret)[i] = shows(spec, r, i);
    return 0;
}

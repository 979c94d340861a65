/* See thread_names.h. */
#include "tracer/thread_names.h"

#include <stdio.h>
#include <string.h>

#include "arch/clock.h"
#include "base/clock.h"
#include "target/status.h"

enum {
    POLL_MS = 100,
    POLLED = 100, /* tasks at a time: less than a hundredth of a processor */
    /* After so many ends without another name, only one end of some is looked at. */
    UNCHANGED_ENDS = 128,
    LOOK_AT = 16
};
static const uint64_t POLL_NS = POLL_MS * UINT64_C(1000000);

void thread_names_begin(struct task *task, const char *name) {
    snprintf(task->name, sizeof task->name, "%s", name);
}

void thread_names_read(struct tracer *t, struct task *task) {
    char name[TASK_NAME_BYTES];
    if (!task->lane || !t->options.context.writer)
        return;
    status_name(task->tid, name, sizeof name);
    if (!*name || strcmp(name, task->name) == 0)
        return;
    thread_names_begin(task, name);
    t->names.unchanged_ends = 0;
    trace_writer_change(t->options.context.writer,
                        &(struct trace_change){.ticks = clock_ticks(),
                                               .kind = TRACE_NAMED,
                                               .pid = (uint32_t)task->pid,
                                               .added = (uint32_t)task->tid,
                                               .filter = task->name});
}

void thread_names_end(struct tracer *t, struct task *task) {
    struct name_readings *n = &t->names;
    if (++n->unchanged_ends < UNCHANGED_ENDS || n->unchanged_ends % LOOK_AT == 0)
        thread_names_read(t, task);
}

void thread_names_poll(struct tracer *t) {
    struct name_readings *n = &t->names;
    uint64_t now = clock_monotonic_ns();
    size_t bucket = n->next_bucket, read = 0, buckets = sizeof t->tasks.buckets / sizeof(void *);
    if (now - n->polled_ns < POLL_NS)
        return;
    n->polled_ns = now;
    for (size_t i = 0; i < buckets && read < POLLED; i++, bucket = (bucket + 1) % buckets)
        for (struct task *k = t->tasks.buckets[bucket]; k; k = k->next, read++)
            thread_names_read(t, k);
    n->next_bucket = bucket;
}

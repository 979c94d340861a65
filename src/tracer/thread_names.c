/* See thread_names.h. */
#include "tracer/thread_names.h"

#include <stdio.h>
#include <string.h>

#include "arch/clock.h"
#include "base/clock.h"
#include "target/status.h"

enum {
    POLL_MS = 100,
    POLLED = 100,        /* tasks at a time: less than a hundredth of a processor */
    ENDS_AT_ONCE = 256,  /* whose names are read */
    ENDS_A_SECOND = 200, /* from then on */
};
static const uint64_t MS = 1000000;

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
    trace_writer_change(t->options.context.writer,
                        &(struct trace_change){.ticks = clock_ticks(),
                                               .kind = TRACE_NAMED,
                                               .pid = (uint32_t)task->pid,
                                               .added = (uint32_t)task->tid,
                                               .filter = task->name});
}

/* A bucket that fills with time: each end takes its share. */
void thread_names_end(struct tracer *t, struct task *task) {
    const uint64_t share = 1000 * MS / ENDS_A_SECOND, most = ENDS_AT_ONCE * share;
    struct name_readings *n = &t->names;
    uint64_t now = clock_monotonic_ns();
    if (now - n->spent_ns > most)
        n->spent_ns = now - most;
    if (now - n->spent_ns < share)
        return;
    n->spent_ns += share;
    thread_names_read(t, task);
}

void thread_names_poll(struct tracer *t) {
    struct name_readings *n = &t->names;
    uint64_t now = clock_monotonic_ns();
    size_t bucket = n->next_bucket, read = 0, buckets = sizeof t->tasks.buckets / sizeof(void *);
    if (now - n->polled_ns < POLL_MS * MS)
        return;
    n->polled_ns = now;
    for (size_t i = 0; i < buckets && read < POLLED; i++, bucket = (bucket + 1) % buckets)
        for (struct task *k = t->tasks.buckets[bucket]; k; k = k->next, read++)
            thread_names_read(t, k);
    n->next_bucket = bucket;
}

/*
 * The state of a tracer: its tasks, and what is known of the session. The lowest file of the room
 * but for task.h. It decides nothing; tracer.c draws which file may call which.
 *
 * All functions of the room run in one thread, the tracer of all tracees. A function that stops a
 * space (stopping.h) handles other reports meanwhile, and these may end any task but a held one.
 * So callers keep thread ids, not tasks, across such calls.
 */
#pragma once

#include "tracer/options.h"
#include "tracer/task.h"

struct tracer;

/* What lower files need of the loop (loop.c), which is above them. */
struct loop_handlers {
    /* wait() has returned TID with STATUS. */
    void (*report)(struct tracer *t, pid_t tid, int status);
    /* TASK has stopped, and may run on now. It may be gone afterwards. */
    void (*answer)(struct tracer *t, struct task *task);
};

struct ended {
    pid_t pid;
    int status;
};

struct grave { /* a task that was killed (orphans.h) */
    bool used;
    uint64_t mark;       /* lane_lookup_mark() */
    taddr_t lane;        /* or 0 */
    struct space *space; /* or NULL */
};
enum { GRAVES = 64 };

struct tracer {
    struct tracer_options options;
    const struct loop_handlers *loop;
    struct tasks tasks;
    uint32_t next_stream;
    ARRAY(struct ended) ended; /* of adopted processes */
    pid_t adopted;
    struct tracer_stop stop; /* the adopted process's last */
    struct tracer_pauses pauses;
    uint64_t leave_ns; /* when all tasks are left, stopped or not; 0: tracing goes on */
    bool left;         /* something of spoor has stayed in a process */
    bool stale;        /* some space may have other patches than it shall have (repatch.h) */
    unsigned unknown_newborns; /* stopped tasks whose parents have not reported them */
    struct grave graves[GRAVES];
    unsigned next_grave;
};

static inline const struct record_options *options_of(const struct tracer *t) {
    return t->options.context.options;
}

typedef ARRAY(pid_t) tid_array;
/* The process ids of those that have SPACE, each once; to be freed. */
tid_array tracer_pids_of(const struct tracer *t, const struct space *space);

/* Warns of ERR, which TID has met; not if TID has died, which explains it. */
void tracer_warn(const struct tracer *t, pid_t tid, const struct err *err);
/* Reports that something of spoor stays in SPACE because of ERR; not if all of its tasks have died
 * or begun another program. */
void tracer_complain_left(struct tracer *t, const struct space *space, const struct err *err);

/*
 * The state of a tracer: its tasks, and what it knows of the recording. The lowest file of the room
 * except task.h. It decides nothing; tracer.c draws which file may call which.
 *
 * All functions of the room run in one thread, the tracer of all tracees. A function that stops a
 * space (stopping.h) handles other reports meanwhile, and these may end any task except a held one.
 * So callers keep thread ids, not tasks, across such calls.
 */
#pragma once

#include "tracer/death.h"
#include "tracer/options.h"
#include "tracer/task.h"

struct tracer;

/* The loop's functions that lower files call (loop.c is above them). */
struct loop_handlers {
    /* wait() has returned TID with STATUS. */
    void (*report)(struct tracer *t, pid_t tid, int status);
    /* Answers TASK's stop: TASK may run on. It may be gone afterwards. */
    void (*answer)(struct tracer *t, struct task *task);
};

struct ended {
    pid_t pid;
    int status;
};

struct killed_task { /* of a killed task (orphans.h) */
    bool used;
    uint64_t mark;       /* lane_lookup_mark() */
    taddr_t lane;        /* or 0 */
    struct space *space; /* or NULL */
};
enum { KILLED_TASKS = 64 };

struct name_readings {       /* of threads (thread_names.h) */
    uint64_t polled_ns;      /* CLOCK_MONOTONIC */
    size_t next_bucket;      /* of the tasks */
    uint32_t unchanged_ends; /* of threads, since a name was another one than before */
};

struct tracer {
    struct tracer_options options;
    const struct loop_handlers *loop;
    struct tasks tasks;
    uint32_t next_stream;
    struct maker_name maker_name;
    struct name_readings names;
    uint64_t read_actions_ns;  /* CLOCK_MONOTONIC, when read_faults_poll() is to look */
    ARRAY(struct ended) ended; /* of adopted processes */
    death_array pending;       /* processes that have a deadly signal, but have not ended */
    death_array deaths;        /* ended by a signal */
    uint64_t deaths_left_out;
    pid_t adopted;
    struct tracer_stop stop; /* the adopted process's last stop */
    struct tracer_pauses pauses;
    enum pause_cause change_cause; /* of the stops in which spaces are changed (repatch.h) */
    uint64_t leave_ns;   /* when spoor detaches all tasks, stopped or not; 0: tracing goes on */
    bool slabs_left;     /* some may be unmapped as soon as no report waits */
    bool left_something; /* something of spoor stays in a process that was detached */
    bool stale;          /* some space may have other patches than it should (repatch.h) */
    unsigned unknown_newborns; /* stopped tasks whose parents have not reported them */
    struct {
        pid_t pid;         /* 0: none */
        uint64_t since_ns; /* CLOCK_MONOTONIC */
    } starting;            /* program_start.h */
    struct killed_task killed_tasks[KILLED_TASKS];
    unsigned next_killed;
};

static inline const struct record_options *options_of(const struct tracer *t) {
    return t->options.context.options;
}

static inline const struct plan_cache *cache_of(const struct tracer *t) {
    return module_table_cache(t->options.context.module_table);
}

typedef ARRAY(pid_t) tid_array;
/* The ids of the processes that have SPACE, each once; the caller frees the array. */
tid_array tracer_pids_of(const struct tracer *t, const struct space *space);

/* Warns of ERR, which TID has caused; not if TID has died, which explains it. */
void tracer_warn(const struct tracer *t, pid_t tid, const struct err *err);
/* Reports that something of spoor stays in SPACE because of ERR; not if all of its tasks have died
 * or executed another program. */
void tracer_report_left(struct tracer *t, const struct space *space, const struct err *err);

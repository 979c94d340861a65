/* Traced threads, by thread id. */
#ifndef SPOOR_TRACER_TASK_H
#define SPOOR_TRACER_TASK_H

#include <signal.h>
#include <sys/ptrace.h>

#include "arch/rest.h"
#include "patch/space.h"
#include "ring/lanes.h"
#include "target/thread.h"

/* What a process does at SIGTRAP, as the kernel has it (struct kernel_sigaction). */
struct trap_action {
    unsigned long handler, flags, restorer;
    uint32_t mask[2];
};

struct task {
    pid_t tid, pid;
    struct space *space;  /* NULL: not set up (yet), or seen only for its signals and children */
    struct slot *slot;    /* NULL: untraced */
    uint32_t stream;      /* in the trace, with a slot */
    uint64_t mark;        /* keys_mark(), since it has one */
    bool remembered;      /* by orphans_note_killed() */
    pid_t maker;          /* 0: not known */
    struct span stack;    /* that its maker has given it; empty: not known */
    struct span readable; /* of its own stack (own_stack()); empty: not known, or not asked */
    bool ready;           /* its first stop has been handled */
    bool late;            /* it waited in the kernel when its space got patches: it is joined when
                             it stops */
    bool forked;          /* space is a copy that has not run yet */
    bool stopped;         /* by ptrace, and not yet resumed */
    bool standing;        /* in a group-stop, until it reports something else */
    bool finished;        /* the call that it has made a child by, since it stopped */
    pid_t vfork_child;    /* not 0: it waits in the kernel until that child execs or ends */
    bool stuck;           /* likewise, until who knows when, and is left so */
    bool lent;            /* such a child has, or had, what its lane is found by (keys.h) */
    bool exiting;         /* a main thread that has ended, or is about to, before its process */
    bool watched;         /* stops at system calls (cede.c), as do its threads and children */
    bool asks;         /* its present call, `asked`, is to succeed though the kernel refuses it */
    bool asked_before; /* such a call has succeeded */
    struct thread_call_stop asked;
    bool ceded_told;           /* the user knows that it traces others */
    bool held;                 /* by ptrace, while what it has reported is being seen to */
    bool leaving;              /* to be detached when it stops */
    bool rid;                  /* it is leaving a process in which nothing of ours is any more */
    bool unwanted;             /* a child that is not followed, but shares memory until it execs */
    bool traps_blocked;        /* SIGTRAP is, as it runs now; known while its space holds traps */
    bool owes_ignore;          /* of SIGTRAP: a trap has set the default action instead */
    bool entering;             /* a handler, at whose start it stops */
    bool regroup;              /* it goes back into its group-stop when a trap has been seen to */
    struct trap_action action; /* of SIGTRAP; likewise */
    struct trap_action asked_action;
    bool asks_action; /* its present call sets asked_action */
    long call;        /* its present call's number; likewise */
    taddr_t hit;      /* the trap that it has come to, not counted yet; else 0 */
    bool walks;       /* while it stepped itself */
    taddr_t sink;     /* of the space that it left when it could not be taken over; else 0 */
    int status;       /* when stopped: what wait said, to be answered on resume */
    bool is_cut;      /* the stop has cut short `cut`, whose rest it is to make (rests.c) */
    struct rest_call cut;
    enum rest_of rest_of;
    enum {
        RESTS_NOT,
        RESTS_MADE,
        RESTS_OVER
    } rests; /* when it is left: it is let make a rest; it
                has, and is about to stop */
    uint64_t
        switches; /* how often it had stood in the kernel when its rest was last looked after */
    struct thread_past past;
    struct task *next;
};

/* Whether it cannot run the program's code before its next report has been answered. */
static inline bool task_stands_still(const struct task *k) {
    return k->stopped || k->held || k->vfork_child || k->exiting || k->stuck;
}
/* It stands at the start of a new program, which is not answered yet: it has a memory of its own,
 * and belongs to the space it had before only because of that. */
static inline bool task_is_at_exec(const struct task *k) {
    return k->stopped && k->status >> 16 == PTRACE_EVENT_EXEC;
}
static inline bool task_is_stopped_in(const struct task *k, const struct space *space) {
    return k->space == space && k->stopped && !task_is_at_exec(k);
}
/* Whether it, stopped, may make a remote call: not within a system call, nor before a signal. */
static inline bool task_may_call(const struct task *k) {
    return k->status >> 16 == PTRACE_EVENT_STOP;
}
static inline bool is_stop_signal(int sig) {
    return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}
/* Whether a stop that wait() has reported so is a syscall-stop. */
static inline bool is_call_stop(int status) { return status >> 8 == (SIGTRAP | 0x80); }
/* A newborn may be reported before its parent's event tells its pid: then it waits. */
static inline bool is_unknown_newborn(const struct task *k) { return !k->ready && !k->pid; }
/* CHILD has SPACE itself (SHARED), or a copy. */
void task_inherit_space(struct task *child, struct space *space, bool shared);

/* Stops it, as soon as it can be. */
static inline void task_interrupt(struct task *task) {
    thread_note_wait(task->tid, &task->past);
    thread_interrupt(task->tid);
}

struct tasks {
    struct task *buckets[1024];
    size_t count;
};

struct task *tasks_find(const struct tasks *tasks, pid_t tid);
struct task *tasks_add(struct tasks *tasks, pid_t tid);
void tasks_remove(struct tasks *tasks, struct task *task); /* frees it */
/* Iteration; the current task may be removed. Start with NULL. */
struct task *tasks_next(const struct tasks *tasks, const struct task *after);

#endif

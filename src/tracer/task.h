/*
 * Tasks: traced threads, by thread id. A task is always in one state. The transitions, from the
 * state at the left to the one above:
 *
 *                              RUNNING  GROUP_STOP  VFORK  WAIT  STOPPED  HELD  EXITING
 *     RUNNING                     .         .         v     w       r       .      e
 *     IN_GROUP_STOP               .         .         .     w       r       .      e
 *     IN_VFORK                    c         .         .     .       r       .      e
 *     IN_UNINTERRUPTIBLE_WAIT     .         .         .     .       r       .      e
 *     STOPPED                     g         .         g     .       x       a      e
 *     HELD                        g         l         g     .       d       .      e
 *     EXITING                     .         .         .     .       x       .      e
 *
 *     a  its stop begins to be answered, or it is held until its process has dumped core
 *     c  its vfork child has executed a program or ended
 *     d  its space is left before its stop has been answered, or as x
 *     e  its exit event is reported, or /proc shows that it has ended
 *     g  it is resumed; it waits in vfork() then, if it has a vfork child
 *     l  it is resumed into its group-stop (PTRACE_LISTEN)
 *     r  it reports a stop
 *     v  /proc shows that it waits for a vfork child
 *     w  it does not stop, and spoor ends
 *     x  it reports an exec by another thread of its process
 *
 * Independent of its state are its stage and whether it leaves:
 *
 *     UNKNOWN ─▶ NEWBORN or FORKED ─ first stop answered ─▶ READY ◀─▶ LATE
 *     STAYS ─▶ LEAVES or LEAVES_RESTORED
 *
 * Some situations have records of their own: task_cut.h, task_pause.h, task_signals.h,
 * task_traps.h, task_nested.h.
 */
#pragma once

#include "patch/space.h"
#include "ring/lanes.h"
#include "target/stop.h"
#include "target/thread.h"
#include "tracer/maker_name.h"
#include "tracer/task_cut.h"
#include "tracer/task_nested.h"
#include "tracer/task_pause.h"
#include "tracer/task_signals.h"
#include "tracer/task_traps.h"

enum task_state {
    TASK_RUNNING,
    TASK_IN_GROUP_STOP,           /* PTRACE_LISTEN: until it reports another stop */
    TASK_IN_VFORK,                /* in the kernel until vfork_child execs or exits */
    TASK_IN_UNINTERRUPTIBLE_WAIT, /* in the kernel; spoor does not wait for it any more */
    TASK_STOPPED,                 /* its stop is not answered yet */
    TASK_HELD,                    /* its stop is being answered */
    TASK_EXITING,                 /* it is exiting; a main thread maybe long before its process */
    TASK_STATES
};

/*
 * How far a task has come:
 *
 *     from                        to         by
 *     UNKNOWN                     NEWBORN    lifecycle_birth(), orphans_identify()
 *     UNKNOWN, NEWBORN, FORKED    FORKED     task_inherit_space()
 *     UNKNOWN                     READY      seizing, tracer_adopt()
 *     NEWBORN, FORKED             READY      lifecycle_first_stop()
 *     UNKNOWN, READY, LATE        LATE       seizing, give_lanes() of attach.c, repatch.c
 *     READY, LATE                 READY      task_lane_join_late()
 */
enum task_stage {
    TASK_UNKNOWN, /* a newborn that its parent has not reported: pid is 0 */
    TASK_NEWBORN, /* its first stop is not answered yet */
    TASK_FORKED,  /* likewise, and its memory is a copy of its parent's */
    TASK_READY,
    TASK_LATE, /* ready; it waited in the kernel when its space was patched (task_lane.h) */
    TASK_STAGES
};

enum task_leaving {
    TASK_STAYS,
    TASK_LEAVES,         /* it is detached at its next stop */
    TASK_LEAVES_RESTORED /* likewise, and its process holds nothing of spoor */
};

/* How a process was made, if its maker was recorded then. */
struct birth {
    uint32_t maker; /* 1 + the maker's stream; 0: unknown */
    bool shares;    /* it is in its maker's memory */
    uint64_t ticks;
    taddr_t sp;        /* its maker's */
    struct span stack; /* its maker's own; empty: unknown */
};

/* A signal that an instruction of the task has caused. */
struct task_fault {
    int signal; /* 0: none yet */
    taddr_t pc, address;
    uint64_t ticks;
};

struct task {
    pid_t tid, pid;
    enum task_state state;     /* task_set_state() */
    enum task_stage stage;     /* task_set_stage() */
    enum task_leaving leaving; /* task_leave() */
    struct stop stop;          /* its last stop; answered unless the state is TASK_STOPPED */
    struct space *space; /* NULL: not set up (yet), or traced only for its signals and children */
    struct lane_handle *lane; /* NULL: untraced */
    uint32_t stream;          /* of the trace, if it has a handle */
    struct task_fault fault;  /* the last one for which it got a signal */
    uint64_t fatal_ticks;     /* when its process got the signal that ends it; 0: not yet */
    uint64_t mark;            /* lane_lookup_mark() of when it got its handle */
    taddr_t sink;      /* sink of the space that it left because that could not be copied; else 0 */
    pid_t creator;     /* the task that has created it; 0: unknown */
    pid_t vfork_child; /* the child that it waits for in vfork(), or will when resumed; else 0 */
    bool vfork_lane;   /* its vfork child has, or had, its lane's key (lane_lookup.h) */
    bool watched;      /* runs from one syscall-stop to the next (syscall_watch.h) */
    bool not_followed; /* a child that shares memory; it is detached at its exec */
    bool noted_killed; /* by orphans_note_killed() */
    unsigned images;   /* that its process has executed since it is traced */
    struct span stack; /* given by its creator; empty: unknown */
    struct birth birth;         /* until it has its lane */
    char name[TASK_NAME_BYTES]; /* the last known; "": unknown */
    char *program; /* the file name by which its process's program was started; NULL: unknown, or
                      it is not the process's first thread */
    struct span readable; /* readable part of its stack (own_stack()); empty: unknown or unneeded */
    struct thread_past past;
    struct task_cut cut;
    struct task_signals signals;
    struct task_traps traps;
    struct task_nested nested;
    struct task_pause pause;
    struct task *next;
};

/* The only ways to change a state or stage. They assert that its table has the transition. */
void task_set_state(struct task *task, enum task_state state);
void task_set_stage(struct task *task, enum task_stage stage);
/* TASK, stopped or held, is resumed. */
void task_set_running(struct task *task);
/* TASK waits in vfork() until CHILD execs or exits; 0: it has. */
void task_set_vfork_child(struct task *task, pid_t child);

/* Whether it cannot run the program's code before its next report is answered. */
static inline bool task_stands_still(const struct task *k) {
    return k->state != TASK_RUNNING && k->state != TASK_IN_GROUP_STOP;
}
/* Whether it is at its exec event: it still belongs to the space of the program before, but does
 * not have that memory any more. */
static inline bool task_is_at_exec(const struct task *k) {
    return k->state == TASK_STOPPED && k->stop.kind == STOP_EXEC;
}
static inline bool task_is_ready(const struct task *k) { return k->stage >= TASK_READY; }
/* Whether it, stopped, may make a remote call: not at a syscall-stop or signal-delivery-stop. */
static inline bool task_may_call(const struct task *k) {
    return k->stop.kind == STOP_INTERRUPT || k->stop.kind == STOP_GROUP;
}
/* Its stop has nothing to deliver any more. */
static inline void task_drop_stop(struct task *task) {
    task->stop = (struct stop){STOP_INTERRUPT, SIGTRAP};
}
/* A process that holds nothing of spoor stays so. */
static inline void task_leave(struct task *task, enum task_leaving how) {
    if (task->leaving < how)
        task->leaving = how;
}

/* CHILD gets SPACE itself (SHARED), or a copy. */
void task_inherit_space(struct task *child, struct space *space, bool shared);
/* Asks it to stop (PTRACE_INTERRUPT). */
void task_interrupt(struct task *task);

struct tasks {
    struct task *buckets[1024];
    size_t count;
};

struct task *tasks_find(const struct tasks *tasks, pid_t tid);
struct task *tasks_add(struct tasks *tasks, pid_t tid);
void tasks_remove(struct tasks *tasks, struct task *task); /* frees it */
/* Iteration; the current task may be removed after the call for the next. Start with NULL. */
struct task *tasks_next(const struct tasks *tasks, const struct task *after);
/* The same, for tasks that have SPACE. */
struct task *tasks_next_in(const struct tasks *tasks, const struct task *after,
                           const struct space *space);
/* The same, for tasks that have stopped in SPACE, and not at an exec event. */
struct task *tasks_next_stopped(const struct tasks *tasks, const struct task *after,
                                const struct space *space);

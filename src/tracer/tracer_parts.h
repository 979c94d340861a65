/*
 * What the parts of the tracer share; nobody else includes it.
 *
 *   tracer.c    reports of wait() and their answers; the interface
 *   family.c    tasks: births, programs, lanes, ends
 *   seizing.c   processes that run already
 *   live.c      what is patched, changed while it runs
 *   told.c      what the trace is told of that
 *   stopping.c  all tasks of one address space stopped, resumed, released
 *   deliver.c   a signal on its way to a task
 *   rests.c     calls that a stop has cut short
 *   dying.c     a signal that ends a process with a core
 *   orphans.c   births that nobody could tell of
 *   access.c    processes that do not want to be looked at
 *   cede.c      tasks that others are about to trace
 *   privilege.c programs that get their rights untraced only
 *   traps.c     tasks that come to breakpoints of ours
 *
 * Every report is answered in one place, tracer_answer(): at once or, while
 * the task's address space is being changed (space->stopping), when that is
 * done. Answering one task may end others: keep thread ids, not tasks, across
 * such calls.
 */
#ifndef SPOOR_TRACER_TRACER_PARTS_H
#define SPOOR_TRACER_TRACER_PARTS_H

#include <signal.h>
#include <sys/ptrace.h>

#include "patch/arrival.h"
#include "target/candidate.h"
#include "target/maps.h"
#include "tracer/task.h"
#include "tracer/tracer.h"

struct ended {
    pid_t pid;
    int status;
};

struct grave { /* what a killed task had */
    bool used;
    uint64_t mark;       /* keys_mark() */
    taddr_t lane;        /* or 0 */
    struct space *space; /* or NULL */
};
enum { GRAVES = 64 };

struct tracer {
    struct tracer_options options;
    struct tasks tasks;
    uint32_t next_stream;
    ARRAY(struct ended) ended; /* of adopted processes */
    pid_t adopted;
    struct tracer_stop stop; /* the adopted process's last */
    struct tracer_pauses pauses;
    uint64_t leave_ns;         /* when all are to be left, stopped or not; 0: not to be left */
    bool left;                 /* something of ours has stayed in a process */
    bool stale;                /* some space may not be as it is to be (live.c) */
    unsigned unknown_newborns; /* stopped, and nobody has told yet whose children they are */
    struct grave graves[GRAVES];
    unsigned next_grave;
};

static inline const struct session_options *options_of(const struct tracer *t) {
    return t->options.context.options;
}
/* Says ERR, which happened while something was done to TID: unless TID has died, which explains it.
 */
void tracer_warn(const struct tracer *t, pid_t tid, const struct err *err);
/* The same of what of ours stays in SPACE because of ERR, unless all of its tasks have died or
 * begun another program. */
void tracer_tell_left(struct tracer *t, const struct space *space, const struct err *err);

static inline bool is_stop_signal(int sig) {
    return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* Whether a stop that wait() has reported so is one at a system call. */
static inline bool is_call_stop(int status) { return status >> 8 == (SIGTRAP | 0x80); }

/* K stands at the start of a new program, which is not answered yet: it has a memory of its own,
 * and belongs to the space it had before only because of that. */
static inline bool has_begun_program(const struct task *k) {
    return k->stopped && k->status >> 16 == PTRACE_EVENT_EXEC;
}
/* Whether K stands, and in SPACE's memory. */
static inline bool stands_in(const struct task *k, const struct space *space) {
    return k->space == space && k->stopped && !has_begun_program(k);
}

/* ---- tracer.c ---- */

/* aside_look() of SPACE; reports of its threads are answered meanwhile. */
void tracer_look_aside(struct tracer *t, struct space *space);

/* Lets TID, if it is still there, run on with signal SIG. */
void tracer_resume(struct tracer *t, pid_t tid, int sig);

/* A newborn may be reported before its parent's event tells who it is: then it waits. */
static inline bool is_unknown_newborn(const struct task *task) {
    return !task->ready && !task->pid;
}
void tracer_report(struct tracer *t, pid_t tid, int status);
void tracer_answer(struct tracer *t, struct task *task);
/* Answers newborns whose parent's event has been seen since they were reported. */
void tracer_answer_newborns(struct tracer *t);
typedef ARRAY(pid_t) tid_array;
/* Answers those that are still there, stopped, and in no stopping space; frees TIDS. */
void tracer_answer_all(struct tracer *t, tid_array *tids);

/* ---- family.c ---- */

/* TASK, adopted or at its exec event, stands at the start of a new program. WAS_LIFTED: the one
 * before was not recorded. */
int family_set_up_program(struct tracer *t, struct task *task, bool was_lifted, struct err *err);
/* TASK stands somewhere in a program that runs: gets a lane. MAPS are its process's. */
void family_join(struct tracer *t, struct task *task, const struct maps *maps);
/* Tells the trace of a process. */
void family_tell_process(struct tracer *t, pid_t pid);
/* TASK stands at its exec event, which has ended all other threads of its process: forgets them. */
void family_forget_threads(struct tracer *t, const struct task *task);
/* Returns whether it stays traced. */
bool family_exec(struct tracer *t, struct task *task);
/* PARENT's fork, vfork or clone EVENT is reported. Called at once, since a fork's child has the
 * memory of this moment. */
void family_birth(struct tracer *t, struct task *parent, int event);
/* The first stop of a task that a traced one has made, before its first instruction. Returns
 * whether it stays traced. */
bool family_first_stop(struct tracer *t, struct task *task);
/* TASK stands at its exit event: the rest is the kernel's, and never waits, since another thread's
 * exec may wait for it. */
void family_exit(struct tracer *t, struct task *task);
/* CHILD has SPACE itself (SHARED), or a copy. */
void family_inherit(struct task *child, struct space *space, bool shared);
/* It writes no more events. */
void family_close_lane(struct tracer *t, struct task *task);
/* Closes its lane and frees it. */
void family_forget(struct tracer *t, struct task *task);

/* ---- orphans.c ---- */

/* Called before the lane of a task that was killed is taken back. */
void orphans_remember(struct tracer *t, struct task *killed);
/* Finds out about newborns whose makers are gone: they are unknown no more, though not answered. */
void orphans_adopt(struct tracer *t);
void orphans_done(struct tracer *t);

/* Leaves TASK, at its entry to a system call or at a fault of its own, alone as if it had never
 * been traced; its memory too, if that is its own. */
void part_with_task(struct tracer *t, struct task *task);
/* The same for TASK, which is to leave, at the first stop that it comes to. */
void part_when_stopped(struct tracer *t, struct task *task);
/* Leaves all of process PID, which runs; its memory stays as it is. */
void part_with_process(struct tracer *t, pid_t pid);
/* Leaves SPACE and all processes that have it; none of their tasks is held. */
void part_with_space(struct tracer *t, struct space *space);

/* ---- told.c ---- */

/* Of process PID, from now on. */
void tell_change(const struct tracer *t, pid_t pid, enum trace_change_kind kind);
/* Of each process that has SPACE, at TICKS. */
void tell_change_of_space(const struct tracer *t, const struct space *space,
                          enum trace_change_kind kind, uint64_t ticks);
/* TASK has begun its program, or its life: in a pause? WAS_LIFTED: so was what it was before. */
void tell_of_program(const struct tracer *t, const struct task *task, bool was_lifted);
/* FILTER has been chosen; ADDED and REMOVED: functions, compared with the one before. */
void tell_choice(const struct tracer *t, const struct filter *filter, size_t added, size_t removed);

/* ---- seizing.c ---- */

/* All tasks of SPACE, which has MAPS, stand, and are about to be patched: where they are. */
void gather_arrival(const struct tracer *t, const struct space *space, const struct maps *maps,
                    struct arrival *ret);
/* They have been patched: tells the trace what is known by that. */
void tell_arrival(const struct tracer *t, const struct space *space, const struct arrival *arrival);

/* TASK stands, and waited in the kernel when its space got patches: it gets its lane, and what it
 * has open is told. */
void join_late(struct tracer *t, struct task *task);

/* ---- live.c ---- */

/* Patches, or changes, all spaces that are not as is wanted now: what is coming, and its children;
 * all, when something else is wanted. RET_NS: for how long a space stood, at most. Errors: "busy"
 * (those follow when they can). */
int live_follow(struct tracer *t, uint64_t *ret_ns, struct err *err);
/* SPACE is about to be left: takes its patches away, and its threads out of trampolines, if it can
 * be stopped soon and that can be done. Returns for how long it stood, in ns. */
uint64_t live_end(struct tracer *t, struct space *space);

/* ---- cede.c ---- */

/* Whether the program that TID runs is to be watched. That takes some time, when it was not the
 * last that was asked about. */
bool cede_watches(pid_t tid);
/* TASK stands at the start of a program: tells whether it is to be watched. */
void cede_look_at(struct task *task);
/* TASK, watched, stands at a system call. Returns false when it is gone: let go. */
bool cede_at_call(struct tracer *t, struct task *task);

/* ---- privilege.c ---- */

/* TASK, adopted or at its exec event, has begun a program that has been refused rights because of
 * us: it begins again, untraced. Returns whether so; the task is gone then. */
bool privilege_let_go(struct tracer *t, struct task *task);

/* ---- traps.c ---- */

/* TASK has stopped in a space that has or had traps. If it has come to one, it is sent on, and its
 * status becomes one with nothing to deliver. False: it runs on, as it is just about to report a
 * trap. */
bool traps_meet(struct tracer *t, struct task *task);
/* Counts the trap that TASK has met, and takes it away if it is met too often. TASK may be gone
 * afterwards. */
void traps_count(struct tracer *t, struct task *task);
/* TASK, whose space holds traps, stands at a system call. Returns whether it is still there. */
bool traps_at_call(struct tracer *t, struct task *task);
/* TASK's program ignores SIGTRAP, but may not do so just now because of a trap: it does again. All
 * tasks of its space stand still. */
void traps_ignore_again(struct task *task);
/* Whether SIG, which was sent to TASK, is ignored, though the kernel may not know just now. */
bool traps_ignore(const struct task *task, int sig);
/* Lets TASK, whose space holds traps, run on with signal SIG so that what it does to SIGTRAP is
 * seen. */
void traps_resume(struct tracer *t, struct task *task, int sig);
/* SPACE may hold its first traps now; CALLER is one of its tasks. */
void traps_arm(struct tracer *t, struct space *space, pid_t caller);

/* ---- stopping.c ---- */

/* Stops all tasks of SPACE. They may be let run a few times before they stand. Whose report is
 * being seen to is `held`, else it would be answered then. */
void stop_space(struct tracer *t, struct space *space);
/* The same, but for MS milliseconds at most: returns whether all tasks have stopped; if not, it
 * goes on with those that have. */
bool stop_space_within(struct tracer *t, struct space *space, unsigned ms);
/* A task of SPACE that has not stopped; 0: none. */
pid_t stopping_laggard(const struct tracer *t, const struct space *space);
/* Stops the space at a moment when one of its tasks may make remote calls. NULL: there is no such
 * moment. */
struct task *stop_with_caller(struct tracer *t, struct space *space);
/* SPACE is stopped: restores it, and leaves its tasks. What cannot be undone goes on harmlessly:
 * its threads write into the sink. Returns what space_undo() does; an error is said, unless RET
 * takes it. */
int release_stopped(struct tracer *t, struct space *space, struct err *ret);
/* Lets those go that were to leave and waited for a child of vfork, as they come from there. Not
 * for ever, and not when somebody asks spoor to end once more. */
void await_leavers(struct tracer *t);
/* Handles reports until TURN, which is called between them, returns false; for as long as leavers
 * are waited for. Returns whether that has gone by, and nobody asks spoor to end once more. */
bool await_while(struct tracer *t, bool (*turn)(struct tracer *, const struct space *),
                 const struct space *space);
/* Lets TASK, which is stopped, run on without us, with what it was stopped for. LANE: where it may
 * write events that nobody reads; 0: it comes to no patch. */
void release_task(struct tracer *t, struct task *task, taddr_t lane);
void resume_space(struct tracer *t, struct space *space);
/* The same but for TID, which is answered by our caller. Those that are answered here may stop the
 * space again. Returns whether TID is still there. */
bool resume_others(struct tracer *t, struct space *space, pid_t tid);
/* SPACE is stopped, and its text about to be restored: nobody shall stand where that changes what
 * is executed, on a way from a site to its trampoline. */
void settle_ways(const struct tracer *t, const struct space *space);
/* Whether TASK, which is stopped, may make a remote call: not within a system call, nor before a
 * signal. */
bool may_call(const struct task *task);
/* TASK, if its sandbox allows remote calls; else another stopped one of its space that may make
 * them and whose sandbox does, if there is one. */
pid_t free_caller(const struct tracer *t, const struct task *task);

/* ---- seizing.c ---- */

/* PID runs: seizes all its tasks, for SPACE, and stops them. Errors: "seize", "busy"; what is
 * seized then stays so. */
int seizing_stop_all(struct tracer *t, struct space *space, pid_t pid, struct err *err);
/* Seizes those that share SPACE's memory and are not ours: the kernel keeps tasks from their
 * makers' tracers where it is asked to (CLONE_UNTRACED). Returns whether there were any. To look at
 * all processes takes long: so the first look is for a time when SPACE runs. */
struct strays {
    bool join; /* they are traced from now on, as all others */
    struct sharing sharing;
};
bool seizing_find_strays(struct tracer *t, struct space *space, struct strays *strays);

/* ---- deliver.c ---- */

/* Signal SIG is about to be delivered: its handler shall find the program's own pc. False: it is of
 * our making, and the program shall not see it. The task may be gone afterwards. */
bool deliver_prepare(struct tracer *t, struct task *task, int sig);
/* Whether SIG, which stops TID, comes from the instruction that it stands at. */
bool deliver_is_fault(pid_t tid, int sig);
/* The stop that was reported for TASK has made a system call return that the kernel does not
 * restart (EINTR), and nothing else has: it shall go on. */
void deliver_mend_call(struct task *task);

/* ---- rests.c ---- */

/* TASK has stopped, and not at its entry to a call: it makes no rest any more, but stands behind
 * the call that it was of. */
void rests_end(struct task *task);
/* TASK has stopped with REGS: notes whether that has cut a call short. */
void rests_note(struct task *task, const struct regs *regs);
/* TASK is about to be resumed, with no signal: if its stop has cut a call short, it makes the rest
 * of it. Returns whether so. */
bool rests_go_on(struct task *task);
/* All other tasks of SPACE, which is stopped and to be left, have been released: those whose calls
 * were cut short make the rest, and are released as they come from it, but for the last, which
 * stands. For as long as they get on, unless somebody asks spoor to end once more. */
void rests_await(struct tracer *t, const struct space *space);

/* ---- dying.c ---- */

/* Signal SIG is about to be delivered to TASK, which stands in the program's own code: if that ends
 * its process with a core, the other threads are brought out of trampolines and stay stopped. */
void dying_prepare(struct tracer *t, struct task *task, int sig);
/* The first process of a pid namespace, while it is traced, survives faults that it does not
 * handle, and repeats them for ever (force_sig_info_to_task() in the kernel): TASK's is let go, to
 * die as it would have. Returns whether so; TASK is gone then. */
bool dying_let_go(struct tracer *t, struct task *task, int sig);

#endif

/*
 * The end of a process that dumps core. A debugger must find all of its threads in the program's
 * own code, not only the thread that got the signal. So the others are stopped, moved out of
 * trampolines and held, until the kernel ends them. Calls that are open end at the signal: writing
 * the core may take seconds.
 */
#include "tracer/core_dump.h"

#include <signal.h>

#include "patch/settle.h"
#include "target/status.h"
#include "tracer/deliver.h"
#include "tracer/stopping.h"

/* Signals whose default action is a core dump (signal(7)). */
static bool leaves_core(int sig) {
    static const int signals[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                  SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i] == sig)
            return true;
    return false;
}

/* The first process of a pid namespace lives on (signal(7), pid_namespaces(7)). */
bool core_dump_is_deadly(const struct task *task, int sig) {
    return !status_catches(task->tid, sig) && !status_ignores(task->tid, sig) &&
           status_innermost_pid(task->tid) != 1;
}

/* All other tasks of SPACE are stopped, and process PID is about to end by a signal to TID. */
static void hold_others(const struct tracer *t, const struct space *space, pid_t pid, pid_t tid,
                        uint64_t ticks) {
    enum settled settled;
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));) {
        if (k->pid == pid)
            k->fatal_ticks = ticks;
        if (k->pid != pid || k->state != TASK_STOPPED)
            continue;
        if (k->tid != tid)
            settle_step_out(space, k->tid, k->lane, &settled);
        task_set_state(k, TASK_HELD); /* its next report is its end */
    }
}

/* The kernel may have reset the action for a moment, as another task's read of a value has faulted
 * (read_faults.h). Once all tasks have stopped, and reported, that is restored. */
void core_dump_prepare(struct tracer *t, struct task *task, int sig, uint64_t ticks) {
    struct space *space = task->space;
    pid_t tid = task->tid, pid = task->pid;
    if (!space || !leaves_core(sig) || !core_dump_is_deadly(task, sig))
        return;
    space_ref(space);
    stop_space(t, space);
    task = tasks_find(&t->tasks, tid);
    if (task && core_dump_is_deadly(task, sig))
        hold_others(t, space, pid, tid, ticks);
    resume_others(t, space, tid);
    space_unref(space);
}

bool core_dump_needs_detach(const struct task *task, int sig) {
    return task->space && deliver_is_fault(task->tid, sig) && !status_catches(task->tid, sig) &&
           status_innermost_pid(task->tid) == 1;
}

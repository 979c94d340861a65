#include <sys/ptrace.h>

#include "session/patcher.h"
#include "session/settle.h"
#include "session/tracer_parts.h"

static bool is_fault(pid_t tid, int sig) {
    siginfo_t info;
    if (sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE && sig != SIGILL && sig != SIGTRAP)
        return false;
    return ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code > 0;
}

/* A relocated instruction faulted, in the middle of a window. The handler (or the core) shall see
 * the original pc, and may resume there: so the site is taken back first. */
static void withdraw_site(struct tracer *t, pid_t tid, struct space *space,
                          const struct settle_place *place) {
    struct regs regs;
    space_ref(space);
    tasks_find(&t->tasks, tid)->stopped = true;
    stop_space(t, space);
    patcher_withdraw(place->module, space->remote.memory_fd, place->original, NULL);
    if (thread_get_regs(tid, &regs) == 0) {
        regs_set_pc(&regs, place->original);
        thread_set_regs(tid, &regs);
    }
    struct task *task = tasks_find(&t->tasks, tid);
    if (task)
        task->stopped = false; /* answered by our caller, not by resume_space() */
    resume_space(t, space);
    space_unref(space);
}

/* Signal SIG is about to be delivered: its handler shall find the program's own pc. */
void deliver_prepare(struct tracer *t, struct task *task, int sig) {
    enum settled settled;
    struct settle_place place = {0};
    if (!task->space || settle_registers(task->space, task->tid, task->slot, &settled, &place) < 0)
        return;
    if (settled == SETTLED_OUTSIDE)
        return;
    if (is_fault(task->tid, sig) && place.original)
        withdraw_site(t, task->tid, task->space, &place);
    else
        settle_step_out(task->space, task->tid, task->slot, &settled);
}

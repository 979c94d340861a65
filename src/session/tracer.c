/*
 * Every report of wait() is answered in one place (answer()), at once or,
 * while the task's address space is being changed, when that is done: a space
 * that is `stopping` keeps its tasks' reports until resume_space().
 */
#include "session/tracer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "arch/clock.h"
#include "session/identity.h"
#include "session/patcher.h"
#include "session/settle.h"
#include "session/task.h"
#include "session/thin.h"
#include "target/status.h"

struct ended {
    pid_t pid;
    int status;
};

struct tracer {
    struct tracer_options options;
    struct tasks tasks;
    uint32_t next_stream;
    ARRAY(struct ended) ended; /* of adopted processes */
    pid_t adopted;
    unsigned unknown_newborns; /* stopped, and nobody has told yet whose children they are */
};

struct tracer *tracer_new(const struct tracer_options *options) {
    struct tracer *t = mem_alloc(sizeof *t);
    t->options = *options;
    return t;
}

static const struct session_options *options_of(const struct tracer *t) {
    return t->options.context.options;
}

static void warn(const struct tracer *t, const struct err *err) {
    if (options_of(t)->warn)
        options_of(t)->warn(options_of(t)->ctx, err->text);
}

/* ---- lanes ---- */

static void give_lane(struct tracer *t, struct task *task) {
    const struct space_context *ctx = &t->options.context;
    if (!task->space)
        return;
    task->slot = space_take_lane(ctx, task->space, task->tid, t->next_stream);
    if (!task->slot) {
        thread_set_lane(task->tid, 0);
        return;
    }
    struct trace_thread thread;
    identity_of_thread(task->tid, task->pid, &thread);
    thread.stream = t->next_stream++;
    trace_writer_thread(ctx->writer, &thread);
    const struct session_options *o = options_of(t);
    if (o->depth || o->threshold_ns) {
        struct thin_options thin = {ctx->writer, o->depth, timing_ticks(o->threshold_ns)};
        task->slot->thin = thin_new(&thin, &thread);
    }
    thread_set_lane(task->tid, task->slot->at);
    drain_add(t->options.drain, task->slot);
}

static void take_lane_back(struct tracer *t, struct task *task) {
    if (task->slot)
        drain_close(t->options.drain, task->slot);
    task->slot = NULL;
}

static void forget_task(struct tracer *t, struct task *task) {
    take_lane_back(t, task);
    space_unref(task->space);
    tasks_remove(&t->tasks, task);
    slabs_reap();
}

/* ---- stopping and resuming a space ---- */

static void report(struct tracer *t, pid_t tid, int status);

static bool all_stopped(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !k->stopped && !k->vforked)
            return false;
    return true;
}

static void stop_space(struct tracer *t, struct space *space) {
    space->stopping = true;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && !k->stopped && !k->vforked)
            thread_interrupt(k->tid);
    while (!all_stopped(t, space)) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid > 0)
            report(t, tid, status);
        else if (errno != EINTR)
            break;
    }
}

static void answer(struct tracer *t, struct task *task);
static void answer_newborns(struct tracer *t);

typedef ARRAY(pid_t) tid_array;

/* Answering one task may end others (their deaths are reported meanwhile): so by thread id. */
static void answer_all(struct tracer *t, tid_array *tids) {
    for (size_t i = 0; i < tids->count; i++) {
        struct task *k = tasks_find(&t->tasks, tids->at[i]);
        if (k && k->stopped && !(k->space && k->space->stopping))
            answer(t, k);
    }
    ARRAY_FREE(tids);
}

static void resume_space(struct tracer *t, struct space *space) {
    tid_array tids = {0};
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->stopped)
            ARRAY_PUSH(&tids, k->tid);
    answer_all(t, &tids);
    answer_newborns(t);
}

/* ---- signals ---- */

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
static void settle_for_signal(struct tracer *t, struct task *task, int sig) {
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

/* ---- processes ---- */

static void tell_process(struct tracer *t, pid_t pid) {
    struct identity id;
    identity_of_process(pid, &id);
    trace_writer_process(t->options.context.writer,
                         &(struct trace_process){.pid = (uint32_t)pid,
                                                 .parent = (uint32_t)id.parent,
                                                 .start = clock_ticks(),
                                                 .command = id.command});
}

/* TASK stands at the start of a new program. */
static int set_up_program(struct tracer *t, struct task *task, struct err *err) {
    int rc = thread_finish_exec(task->tid, err);
    if (rc < 0)
        return rc;
    tell_process(t, task->pid);
    rc = space_new(&t->options.context, task->tid, &task->space, err);
    if (rc < 0)
        return rc;
    give_lane(t, task);
    return space_update(&t->options.context, task->space, task->tid, err);
}

static void on_exec(struct tracer *t, struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->pid == task->pid && k != task)
            forget_task(t, k); /* exec has ended the other threads */
    }
    take_lane_back(t, task);
    space_unref(task->space);
    task->space = NULL;
    struct err err = {0};
    if (set_up_program(t, task, &err) < 0 && err.code != ESRCH)
        warn(t, &err);
    slabs_reap();
}

/* A child that is not followed: a copy of the memory is made as it was before us. (A vfork child
 * uses its waiting parent's lane until it execs.) */
static void leave_child(struct tracer *t, struct task *task) {
    if (task->space && task->forked) {
        struct err err = {0};
        enum settled settled;
        settle_step_out(task->space, task->tid, NULL, &settled);
        if (space_undo(task->space, task->tid, &err) < 0 && err.code != ESRCH)
            warn(t, &err);
        thread_set_lane(task->tid, 0);
    }
    thread_detach(task->tid, 0);
    forget_task(t, task);
}

static bool shares_memory(pid_t a, pid_t b) {
    enum { KCMP_VM = 1 };
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

/* PARENT has made a task: what it shares with it decides what it is to us. Done as soon as it is
 * reported, since a fork's child has the memory of this moment. */
static void on_birth(struct tracer *t, struct task *parent, int event) {
    pid_t tid = (pid_t)thread_event_message(parent->tid);
    struct task *child = tasks_find(&t->tasks, tid);
    if (!child)
        child = tasks_add(&t->tasks, tid);
    child->pid = status_process_of(tid);
    parent->vforked = event == PTRACE_EVENT_VFORK;
    if (!parent->space)
        return;
    if (child->pid == parent->pid || event == PTRACE_EVENT_VFORK ||
        shares_memory(tid, parent->tid)) {
        child->space = space_ref(parent->space);
    } else {
        child->space = space_fork(parent->space, tid, NULL);
        child->forked = true;
    }
}

/* The first stop of a task that a traced one has made: before its first instruction. Returns
 * whether it stays traced. */
static bool on_first_stop(struct tracer *t, struct task *task) {
    bool process = task->pid == task->tid;
    task->ready = true;
    if (process && !options_of(t)->follow) {
        leave_child(t, task);
        return false;
    }
    if (process)
        tell_process(t, task->pid);
    give_lane(t, task);
    return true;
}

/* ---- answers ---- */

static bool is_stop_signal(int sig) {
    return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static void answer_event(struct tracer *t, struct task *task, int event, int sig) {
    switch (event) {
    case PTRACE_EVENT_EXEC:
        on_exec(t, task);
        break;
    case PTRACE_EVENT_STOP:
        if (is_stop_signal(sig)) {
            thread_listen(task->tid);
            return;
        }
        break;
    default:
        break;
    }
    thread_continue(task->tid, 0);
}

/* A newborn may be reported before its parent's event tells who it is: then it waits. */
static bool is_unknown_newborn(const struct task *task) { return !task->ready && !task->pid; }

static void answer(struct tracer *t, struct task *task) {
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    task->stopped = false;
    if (!task->ready && !on_first_stop(t, task))
        return;
    if (event) {
        answer_event(t, task, event, sig);
        return;
    }
    pid_t tid = task->tid;
    settle_for_signal(t, task, sig);
    thread_continue(tid, sig); /* the task itself may be gone: killed meanwhile */
}

/* What our own stop interrupted goes on by itself. */
static void mend_interrupted_call(struct task *task) {
    struct regs regs;
    if (task->status >> 16 != PTRACE_EVENT_STOP || thread_get_regs(task->tid, &regs) < 0)
        return;
    if (!status_signal_pending(task->tid) && regs_restart_interrupted(&regs))
        thread_set_regs(task->tid, &regs);
}

static void on_end(struct tracer *t, struct task *task, int status) {
    if (task->tid == task->pid) {
        struct ended e = {task->pid, status};
        if (task->pid == t->adopted)
            ARRAY_PUSH(&t->ended, e);
    }
    forget_task(t, task);
}

/* Answers newborns whose parent's event has been seen since they were reported. */
static void answer_newborns(struct tracer *t) {
    tid_array tids = {0};
    if (!t->unknown_newborns)
        return;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->stopped || k->ready || !k->pid || (k->space && k->space->stopping))
            continue;
        t->unknown_newborns--;
        ARRAY_PUSH(&tids, k->tid);
    }
    answer_all(t, &tids);
}

static bool is_birth(int event) {
    return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
}

static void report(struct tracer *t, pid_t tid, int status) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (!WIFSTOPPED(status)) {
        if (task)
            on_end(t, task, status);
        return;
    }
    if (!task)
        task = tasks_add(&t->tasks, tid);
    task->vforked = false; /* it runs, so its child is done with the shared memory */
    task->stopped = true;
    task->status = status;
    if (is_birth(status >> 16))
        on_birth(t, task, status >> 16);
    if (is_unknown_newborn(task))
        t->unknown_newborns++;
    else if (task->space && task->space->stopping)
        mend_interrupted_call(task);
    else
        answer(t, task);
    answer_newborns(t);
}

void tracer_handle_reports(struct tracer *t) {
    int status;
    pid_t tid;
    while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
        report(t, tid, status);
}

int tracer_adopt(struct tracer *t, pid_t pid, struct err *err) {
    struct task *task = tasks_add(&t->tasks, pid);
    task->pid = pid;
    task->ready = true;
    task->stopped = true;
    t->adopted = pid;
    return set_up_program(t, task, err);
}

void tracer_start(struct tracer *t, pid_t pid) {
    tasks_find(&t->tasks, pid)->stopped = false;
    thread_continue(pid, 0);
}

void tracer_handle_hooks(struct tracer *t) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->slot || !__atomic_load_n(&k->slot->lane->hook, __ATOMIC_ACQUIRE))
            continue;
        struct slot *slot = k->slot;
        struct space *space = space_ref(k->space);
        struct err err = {0};
        pid_t tid = k->tid;
        stop_space(t, space);
        if (space_update(&t->options.context, space, tid, &err) < 0 && err.code != ESRCH)
            warn(t, &err);
        __atomic_store_n(&slot->lane->hook, 0, __ATOMIC_RELEASE);
        resume_space(t, space);
        space_unref(space);
        tracer_handle_hooks(t); /* the table may have changed */
        return;
    }
}

size_t tracer_task_count(const struct tracer *t) { return t->tasks.count; }

bool tracer_ended(const struct tracer *t, pid_t pid, int *ret_status) {
    for (size_t i = 0; i < t->ended.count; i++) {
        if (t->ended.at[i].pid != pid)
            continue;
        *ret_status = t->ended.at[i].status;
        return true;
    }
    return false;
}

/* Lets TASK, which is stopped, run on without us, with what it was stopped for. */
static void release(struct tracer *t, struct task *task) {
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    thread_set_lane(task->tid, 0);
    thread_detach(task->tid, event ? 0 : sig);
    forget_task(t, task);
}

/* Inside a system call (at its fork or exec event) or held by job control a task is no caller. */
static bool may_call(const struct task *task) {
    int event = task->status >> 16;
    return !event || (event == PTRACE_EVENT_STOP && !is_stop_signal(WSTOPSIG(task->status)));
}

static void release_space(struct tracer *t, struct space *space) {
    struct task *caller = NULL;
    struct err err = {0};
    stop_space(t, space);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        enum settled settled;
        if (k->space != space || !k->stopped)
            continue;
        settle_step_out(space, k->tid, k->slot, &settled);
        if (may_call(k))
            caller = k;
    }
    if (caller && space_undo(space, caller->tid, &err) < 0 && err.code != ESRCH)
        warn(t, &err);
    space->stopping = false;
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->space == space && k->stopped)
            release(t, k);
        else if (k->space == space)
            forget_task(t, k); /* waits for its vfork child: the kernel lets it go with us */
    }
}

void tracer_release_all(struct tracer *t) {
    for (struct task *k; (k = tasks_next(&t->tasks, NULL));) {
        if (!k->space) {
            forget_task(t, k); /* nothing of ours is in it */
            continue;
        }
        struct space *space = space_ref(k->space);
        release_space(t, space);
        space_unref(space);
    }
}

void tracer_free(struct tracer *t) {
    if (!t)
        return;
    for (struct task *k; (k = tasks_next(&t->tasks, NULL));)
        forget_task(t, k);
    ARRAY_FREE(&t->ended);
    free(t);
}

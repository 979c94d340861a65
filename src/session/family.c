#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/clock.h"
#include "session/identity.h"
#include "session/settle.h"
#include "session/thin.h"
#include "session/tracer_parts.h"
#include "target/status.h"

static void give_lane(struct tracer *t, struct task *task) {
    const struct space_context *ctx = &t->options.context;
    if (!task->space)
        return;
    struct trace_thread thread;
    task->stream = t->next_stream++;
    task->slot = space_take_lane(ctx, task->space, task->tid, task->stream);
    thread_set_lane(task->tid, task->slot->at);
    identity_of_thread(task->tid, task->pid, &thread);
    thread.stream = task->stream;
    trace_writer_thread(ctx->writer, &thread);
    if (task->slot->unread)
        return;
    const struct session_options *o = options_of(t);
    if (o->depth || o->threshold_ns) {
        struct thin_options thin = {ctx->writer, o->depth, timing_ticks(o->threshold_ns)};
        task->slot->thin = thin_new(&thin, &thread);
    }
    drain_add(t->options.drain, task->slot);
}

/* The end of a thread without a lane of its own: what it wrote nobody has read. */
static void leave_sink(struct tracer *t, const struct task *task) {
    struct trace_writer *w = t->options.context.writer;
    uint64_t lost = slab_sink_lost(task->slot);
    if (lost)
        trace_writer_lost(w, task->stream, clock_ticks(), lost);
    trace_writer_thread_end(w, task->stream, clock_ticks());
}

static void take_lane_back(struct tracer *t, struct task *task) {
    if (task->slot && task->slot->unread)
        leave_sink(t, task);
    else if (task->slot)
        drain_close(t->options.drain, task->slot);
    task->slot = NULL;
}

void family_forget(struct tracer *t, struct task *task) {
    take_lane_back(t, task);
    space_unref(task->space);
    tasks_remove(&t->tasks, task);
    slabs_reap();
}

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
int family_set_up_program(struct tracer *t, struct task *task, struct err *err) {
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

void family_exec(struct tracer *t, struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->pid == task->pid && k != task)
            family_forget(t, k); /* exec has ended the other threads */
    }
    take_lane_back(t, task);
    space_unref(task->space);
    task->space = NULL;
    struct err err = {0};
    if (family_set_up_program(t, task, &err) < 0 && err.code != ESRCH)
        tracer_warn(t, &err);
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
            tracer_warn(t, &err);
        thread_set_lane(task->tid, 0);
    }
    thread_detach(task->tid, 0);
    family_forget(t, task);
}

static bool shares_memory(pid_t a, pid_t b) {
    enum { KCMP_VM = 1 };
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

/* PARENT has made a task: what it shares with it decides what it is to us. Done as soon as it is
 * reported, since a fork's child has the memory of this moment. */
void family_birth(struct tracer *t, struct task *parent, int event) {
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
bool family_first_stop(struct tracer *t, struct task *task) {
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

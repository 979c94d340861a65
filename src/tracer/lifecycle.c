/* Sets tasks up at birth and exec, and forgets them at their end. */
#include "tracer/lifecycle.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/clock.h"
#include "patch/access.h"
#include "patch/breakpoints.h"
#include "patch/install.h"
#include "patch/itimers.h"
#include "patch/limits.h"
#include "patch/modules.h"
#include "patch/settle.h"
#include "patch/space_lifecycle.h"
#include "patch/unpatch.h"
#include "target/memory.h"
#include "target/proc_memo.h"
#include "target/status.h"
#include "tracer/gs_conflict.h"
#include "tracer/identity.h"
#include "tracer/privileged_exec.h"
#include "tracer/program_start.h"
#include "tracer/read_faults.h"
#include "tracer/syscall_watch.h"
#include "tracer/task_lane.h"
#include "tracer/thread_names.h"
#include "tracer/trace_changes.h"
#include "tracer/traps.h"

/* Resumes the parent that waits for vfork child TID, if there is one. */
static void end_vfork(struct tracer *t, pid_t tid) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->vfork_child == tid)
            task_set_vfork_child(k, 0);
}

void lifecycle_exit(struct tracer *t, struct task *task) {
    thread_names_end(t, task);
    task_set_state(task, TASK_EXITING);
    task_lane_close(t, task);
    thread_continue(task->tid, 0);
}

void lifecycle_forget(struct tracer *t, struct task *task) {
    task_lane_close(t, task);
    if (!task->leaving) /* else it lives on, and its vfork parent still waits */
        end_vfork(t, task->tid);
    if (task->space && space_is_paused(task->space) && task->tid == task->pid)
        trace_changes_process(t, task->pid, TRACE_ENDED);
    space_unref(task->space);
    tasks_remove(&t->tasks, task);
    t->slabs_left = true;
}

static void write_process(struct tracer *t, pid_t pid, uint64_t start) {
    struct identity id;
    struct task *first = tasks_find(&t->tasks, pid);
    identity_of_process(pid, &id);
    if (first) {
        free(first->program);
        first->program = mem_strdup(id.command);
    }
    trace_writer_process(t->options.context.writer,
                         &(struct trace_process){.pid = (uint32_t)pid,
                                                 .parent = (uint32_t)id.parent,
                                                 .start = start,
                                                 .command = id.command});
}

void lifecycle_write_process(struct tracer *t, pid_t pid) { write_process(t, pid, clock_ticks()); }

/* TASK, just set up, cannot be traced because of ERR: removes everything. */
static int remove_space(struct tracer *t, struct task *task, const struct err *err) {
    struct err why = {0};
    if (space_undo(task->space, task->tid, &why) < 0)
        tracer_warn(t, task->tid, &why);
    lane_lookup_leave(task->space, task->tid, 0);
    task_lane_close(t, task);
    space_unref(task->space);
    task->space = NULL;
    return -err->code;
}

/* TASK, in the middle of its program, gets a lane. */
static void give_running(struct tracer *t, struct task *task) {
    struct maps maps = {0};
    maps_read(task->tid, &maps, NULL);
    task_lane_join(t, task, &maps);
    maps_done(&maps);
}

/* TASK may make remote calls, and is its process's only task. RUNNING: it has open calls, which
 * task_lane_join_late() writes. */
static int set_up(struct tracer *t, struct task *task, bool was_paused, bool running,
                  struct err *err) {
    task_pause_note(task, PAUSE_START);
    lifecycle_write_process(t, task->pid);
    int rc = space_new(&t->options.context, task->tid, &task->space, err);
    if (rc < 0)
        return rc;
    trace_changes_program(t, task, was_paused);
    running ? give_running(t, task) : task_lane_give(t, task);
    rc = space_update(&t->options.context, task->space, task->tid, err);
    if (rc == 0 && gs_conflict_check_code(task->space, err) < 0)
        return remove_space(t, task, err);
    traps_read_action(t, task->space, task->tid);
    read_faults_note(t, task->space, task->tid);
    return rc;
}

int lifecycle_set_up_program(struct tracer *t, struct task *task, bool was_paused,
                             struct err *err) {
    int rc = thread_finish_syscall(task->tid, err);
    if (rc == 0)
        rc = set_up(t, task, was_paused, false, err);
    if (rc == 0 && task->space) {
        task->space->begins = true;
        if (task->space->loader_hook)
            program_start_note(t, task->pid);
    }
    return rc;
}

void lifecycle_forget_threads(struct tracer *t, const struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL), *next; k; k = next) {
        next = tasks_next(&t->tasks, k);
        if (k->pid == task->pid && k != task)
            lifecycle_forget(t, k);
    }
    end_vfork(t, task->tid);
}

/* TASK, at its exec event, gets a space. Returns false when it is gone. */
static bool begin_image(struct tracer *t, struct task *task) {
    const struct itimers_stand stand = itimers_stand_since_now(task->pid);
    bool was_paused = task->space && space_is_paused(task->space);
    task_lane_close(t, task);
    if (task->space)
        limits_lower(task->space, task->tid);
    space_unref(task->space);
    task->space = NULL;
    task->stack = task->readable = (struct span){0, 0};
    task->noted_killed = false;
    task->images++;
    task->birth = (struct birth){0};
    task->name[0] = '\0';
    if (privileged_exec_restart(t, task)) {
        lifecycle_forget(t, task);
        return false;
    }
    if (task->not_followed) {
        thread_detach(task->tid, 0);
        lifecycle_forget(t, task);
        return false;
    }
    struct err err = {0};
    syscall_watch_decide(cache_of(t), task);
    thread_watch_exit(task->tid, true);
    if (lifecycle_set_up_program(t, task, was_paused, &err) < 0)
        tracer_warn(t, task->tid, &err);
    if (task->space) {
        itimers_begin(task->space, task->images);
        itimers_postpone(task->space, task->tid, &stand);
    }
    t->slabs_left = true;
    return true;
}

bool lifecycle_exec(struct tracer *t, struct task *task) {
    proc_memo_begin(task->tid);
    bool there = begin_image(t, task);
    proc_memo_end();
    return there;
}

/* Restores TASK's copy of traced memory. If spoor has only temporary access, its mappings stay:
 * giving the access back needs them. */
static int restore(const struct task *task, struct err *err) {
    if (!task_may_call(task) || !access_gain(task->space, task->tid))
        return space_undo(task->space, task->tid, err);
    int rc = space_restore(task->space, task->tid, err);
    access_give_back(task->space, task->tid);
    return rc;
}

/* Detaches a child that is not followed, and restores its copy of traced memory, if it has one. */
static void detach_child(struct tracer *t, struct task *task) {
    struct err err = {0};
    enum settled settled;
    if (task->space) {
        settle_step_out(task->space, task->tid, NULL, &settled);
        lane_lookup_unassign(task->space, task->tid);
        int rc = restore(task, &err);
        if (rc < 0) {
            tracer_warn(t, task->tid, &err);
            breakpoints_remove(task->space);
        }
        lane_lookup_leave(task->space, task->tid, rc < 0 ? space_sink(task->space) : 0);
    }
    thread_detach(task->tid, 0);
    lifecycle_forget(t, task);
}

/* Whether PARENT's system call creates a child that shares its memory; if the call cannot be read,
 * what the event suggests. */
static bool asks_to_share(const struct task *parent) {
    long number;
    uint64_t flags;
    if (!status_syscall_of(parent->tid, &number, &flags))
        return parent->stop.kind == STOP_VFORK;
    if (number == SYS_clone3 && /* flags are the first member of its argument, struct clone_args */
        memory_read(parent->space->remote.memory_fd, flags, &flags, sizeof flags, NULL) < 0)
        return parent->stop.kind == STOP_VFORK;
    if (number == SYS_clone || number == SYS_clone3)
        return flags & CLONE_VM;
    return parent->stop.kind == STOP_VFORK;
}

/* Whether CHILD, of process PID, shares PARENT's memory; else it has a copy. */
static bool shares_memory(pid_t child, pid_t pid, const struct task *parent) {
    enum { KCMP_VM = 1 };
    if (pid == parent->pid)
        return true;
    long differ = syscall(SYS_kcmp, child, parent->tid, KCMP_VM, 0, 0);
    return differ < 0 ? asks_to_share(parent) : differ == 0;
}

/* MAKER has just made CHILD: notes which calls CHILD begins with, if it is a process of its own and
 * goes on with MAKER's stack. With -D or -t these must be in MAKER's stream. */
static void note_birth(const struct tracer *t, const struct task *maker, struct task *child) {
    const struct record_options *o = options_of(t);
    struct lane_handle *lane = maker->lane;
    struct regs regs;
    if (child->pid == maker->pid || !lane || lane->unread || thread_get_regs(maker->tid, &regs) < 0)
        return;
    if (o->depth || o->threshold_ns)
        lane_handle_put(lane, (uint32_t)FORK_EVENT << 2 | EVENT_CONTROL, (uint64_t)child->tid,
                        o->overflow);
    child->birth = (struct birth){.maker = maker->stream + 1,
                                  .shares = child->space == maker->space,
                                  .ticks = clock_ticks(),
                                  .sp = regs_sp(&regs),
                                  .stack = {lane->thread.stack_low, lane->thread.stack_high}};
}

/* The process of TID, which PARENT has created. */
static pid_t process_of_child(const struct task *parent, pid_t tid) {
    if (status_is_thread_of(tid, parent->pid))
        return parent->pid;
    return status_is_thread_of(tid, tid) ? tid : status_process_of(tid);
}

void lifecycle_birth(struct tracer *t, struct task *parent) {
    enum stop_kind event = parent->stop.kind;
    pid_t tid = (pid_t)thread_event_message(parent->tid);
    pid_t pid = process_of_child(parent, tid);
    struct task *child = tasks_find(&t->tasks, tid);
    if (!child && pid != parent->pid && status_tracer_of(tid) != gettid())
        return; /* it was killed, and its end is already reported; or the parent was killed */
    if (!child)
        child = tasks_add(&t->tasks, tid);
    child->pid = pid;
    if (child->pid && child->stage == TASK_UNKNOWN)
        task_set_stage(child, TASK_NEWBORN);
    if (event == STOP_VFORK)
        parent->vfork_child = tid, parent->vfork_lane = true;
    if (parent->space && !child->space)
        task_inherit_space(child, parent->space, shares_memory(tid, pid, parent));
    if (event == STOP_CLONE && child->space == parent->space && child->space)
        child->stack = identity_given_stack(parent->tid, parent->space->remote.memory_fd);
    if (event != STOP_CLONE)
        child->readable =
            parent->readable; /* a copy of the stack, or the stack itself until the child is done */
    note_birth(t, parent, child);
    child->creator = parent->tid;
    if (child->stage == TASK_NEWBORN || child->stage == TASK_FORKED)
        maker_name_inherit(&t->maker_name, parent->tid, child->name);
    memcpy(child->signals.actions, parent->signals.actions, sizeof child->signals.actions);
    child->not_followed = parent->not_followed;
    child->watched = parent->watched;
    child->sink = child->sink ? child->sink : parent->sink;
}

/* Opens the memory of a forked space, which could not be opened before the child stopped. If that
 * fails, the patches stay, and events are lost. */
static void open_own_memory(struct task *task) {
    struct space *space = task->space;
    if (!space || !space->borrowed)
        return;
    bool gained = task_may_call(task) && access_gain(space, task->tid);
    int rc = access_open_memory(space, task->tid, NULL);
    if (gained)
        access_give_back(space, task->tid);
    if (rc == 0) {
        space_forget_unmapped(space);
        return;
    }
    task->sink = space_sink(space);
    task->space = NULL;
    space_unref(space);
}

/* Whether /proc must show TASK's memory for it to get its lane: a new slab is taken out of its
 * process, or its maps are read. */
static bool needs_access(const struct tracer *t, const struct task *task, bool process) {
    return process || options_of(t)->stacks.frames || !space_has_lane(task->space);
}

static void begin_task(struct tracer *t, struct task *task, bool process) {
    bool gained = task->space && needs_access(t, task, process) && task_may_call(task) &&
                  access_gain(task->space, task->tid);
    if (process) {
        write_process(t, task->pid, task->birth.maker ? task->birth.ticks : clock_ticks());
        trace_changes_program(t, task, false);
    }
    task_lane_give(t, task);
    if (gained)
        access_give_back(task->space, task->tid);
}

/* TASK was created while spoor attaches to its parent. A thread waits with the others until that is
 * done; a forked process has nothing of spoor yet. */
static bool begin_during_attach(struct tracer *t, struct task *task, bool forked) {
    struct err err = {0};
    if (!forked)
        return true;
    if (!options_of(t)->follow) {
        detach_child(t, task);
        return false;
    }
    if (set_up(t, task, false, true, &err) < 0)
        tracer_warn(t, task->tid, &err);
    if (task->lane)
        task_lane_join_late(t, task);
    return true;
}

bool lifecycle_first_stop(struct tracer *t, struct task *task) {
    bool process = task->pid == task->tid, forked = task->stage == TASK_FORKED;
    task_set_stage(task, TASK_READY);
    thread_watch_exit(task->tid, process);
    if (task->space ? !task->space->agent : forked && !task->sink)
        return begin_during_attach(t, task, forked);
    open_own_memory(task);
    if (task->sink)
        lane_lookup_give(task->space, task->tid, task->sink);
    if (process && !options_of(t)->follow) {
        if (!task->space || forked) {
            detach_child(t, task);
            return false;
        }
        task->not_followed = true;
    }
    if (task->not_followed) {
        task_lane_set(t, task, space_sink(task->space));
        return true;
    }
    begin_task(t, task, process);
    return true;
}

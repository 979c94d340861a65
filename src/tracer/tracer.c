/*
 * The tracer: what the recording calls (tracer.h). Files of the room include downward only:
 *
 *     tracer.c              attach.c  leftovers.c  live_changes.c  hooks.c  leaving.c
 *       │                     │         the rest of tracer.h, called by the recording's loop
 *       ▼                     ▼
 *     loop.c ◀─ ─ ─ ─ ┐     repatch.c   one space: its patches changed while it runs
 *       │             ╎       │
 *       ▼             ╎       │
 *     nested_tracer.c ╎       │         handlers of rare stops
 *     core_dump.c     ╎       │
 *     deliver.c       ╎       ▼
 *       └─────────────╎─▶ detach.c      tasks and spaces are left
 *                     ╎       ▼
 *                     ╎   lifecycle.c  seizing.c  traps.c  task_lane.c  syscall_resume.c
 *                     ╎       ▼
 *                     ╎   read_faults.c
 *                     ╎       ▼
 *                     ╎   kept_signals.c   masks and actions of tasks
 *                     ╎       ▼
 *                     ╎   stopping.c    an all-stop of one space
 *                     ╎       ▼
 *                     └ ─ reports.c     waits for reports; calls the loop through t->loop
 *                             ▼
 *                    tracer_state.h, task.h   state; no decisions
 *
 * To answer a task, its space may have to stop. While it stops, reports are handled, and other
 * tasks answered. Two rules keep this circle out of the includes. First, reports.c calls the loop
 * only by the two functions of struct loop_handlers, which tracer_new() sets. Second, a handler
 * says by what it returns how the loop goes on; it never answers or resumes the task itself.
 *
 * A stop is answered in one place, answer() in loop.c: at once or, while the task's space is being
 * changed (space->stopping), when that space is resumed.
 */
#include "tracer/tracer.h"

#include "patch/code_cache.h"
#include "tracer/deaths.h"
#include "tracer/lifecycle.h"
#include "tracer/loop.h"
#include "tracer/orphans.h"
#include "tracer/privileged_exec.h"
#include "tracer/program_start.h"
#include "tracer/read_faults.h"
#include "tracer/reports.h"
#include "tracer/syscall_watch.h"
#include "tracer/thread_names.h"

struct tracer *tracer_new(const struct tracer_options *options) {
    struct tracer *t = mem_alloc(sizeof *t);
    t->options = *options;
    t->loop = &loop_handlers;
    t->options.context.codes = code_cache_new();
    return t;
}

void tracer_free(struct tracer *t) {
    if (!t)
        return;
    for (struct task *k; (k = tasks_next(&t->tasks, NULL));)
        lifecycle_forget(t, k);
    orphans_done(t);
    code_cache_free(t->options.context.codes);
    maker_name_forget(&t->maker_name);
    deaths_free(&t->deaths);
    deaths_free(&t->pending);
    ARRAY_FREE(&t->ended);
    free(t);
}

int tracer_adopt(struct tracer *t, pid_t pid, struct err *err) {
    struct task *task = tasks_add(&t->tasks, pid);
    task->pid = pid;
    task_set_stage(task, TASK_READY);
    task_set_state(task, TASK_STOPPED);
    task_pause_begin(task);
    t->adopted = pid;
    if (privileged_exec_restart(t, task)) {
        lifecycle_forget(t, task);
        return 0;
    }
    syscall_watch_decide(cache_of(t), task);
    thread_watch_exit(pid, true);
    return lifecycle_set_up_program(t, task, false, err);
}

void tracer_start(struct tracer *t, pid_t pid) { loop_resume(t, pid, 0); }

bool tracer_handle_reports(struct tracer *t) {
    thread_names_poll(t);
    read_faults_poll(t);
    return reports_handle(t);
}

uint64_t tracer_rest_ns(struct tracer *t) { return program_start_next_rest_ns(t); }

struct tracer_pauses tracer_pauses(const struct tracer *t) {
    return t->pauses;
}

bool tracer_has_leftovers(const struct tracer *t) { return t->left_something; }

size_t tracer_task_count(const struct tracer *t) { return t->tasks.count; }

size_t tracer_process_count(const struct tracer *t) {
    size_t count = 0;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        count += k->tid == k->pid && k->space;
    return count;
}

bool tracer_traces(const struct tracer *t, pid_t pid) { return tasks_find(&t->tasks, pid); }

bool tracer_waits(const struct tracer *t) {
    int status;
    return t->tasks.count || !tracer_ended(t, t->adopted, &status);
}

bool tracer_ended(const struct tracer *t, pid_t pid, int *ret_status) {
    for (size_t i = 0; i < t->ended.count; i++) {
        if (t->ended.at[i].pid != pid)
            continue;
        *ret_status = t->ended.at[i].status;
        return true;
    }
    return false;
}

const death_array *tracer_deaths(const struct tracer *t) { return &t->deaths; }

uint64_t tracer_deaths_left_out(const struct tracer *t) { return t->deaths_left_out; }

bool tracer_stopped(const struct tracer *t, struct tracer_stop *ret) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->pid == t->adopted && k->state == TASK_IN_GROUP_STOP) {
            *ret = t->stop;
            return true;
        }
    return false;
}

/* Notes deadly signals, unwinds the stacks of their threads, and confirms them at the ends. */
#include "tracer/deaths.h"

#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "arch/clock.h"
#include "target/status.h"
#include "trace/format.h"
#include "tracer/core_dump.h"
#include "tracer/deliver.h"
#include "tracer/identity.h"
#include "tracer/open_frames.h"
#include "tracer/tracer_state.h"

enum {
    MOST_STACKS = 100, /* of all deaths: unwinding takes milliseconds */
    MOST_DEATHS = 1000
};

/* Signals whose default action ends no process (signal(7)). */
static bool is_harmless(int sig) {
    return sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH || sig == SIGCONT ||
           is_stop_signal(sig);
}

static struct death *find(const struct tracer *t, pid_t pid) {
    for (size_t i = t->pending.count; i-- > 0;)
        if (t->pending.at[i].pid == pid)
            return &t->pending.at[i];
    return NULL;
}

static void free_frames(struct death *d) {
    for (size_t i = 0; i < d->frames.count; i++)
        free(d->frames.at[i].path);
    ARRAY_FREE(&d->frames);
    d->calls = 0;
}

/* Forgets D, which is in t->pending, but not its frames. */
static void take_out(struct tracer *t, struct death *d) { *d = t->pending.at[--t->pending.count]; }

/* The kernel does not tell the program of a process that has ended, or whose first thread has. */
static void note_program(const struct tracer *t, struct death *d) {
    const struct task *first = tasks_find(&t->tasks, d->pid);
    struct identity id;
    identity_of_process(d->pid, &id);
    const char *program = !id.command[0] && first && first->program ? first->program : id.command;
    snprintf(d->process, sizeof d->process, "%s", program);
}

static struct death *add(struct tracer *t, pid_t pid) {
    struct death *d = find(t, pid);
    if (!d) {
        if (t->pending.count == MOST_DEATHS) { /* such as of a process that was left since */
            free_frames(&t->pending.at[0]);
            take_out(t, &t->pending.at[0]);
        }
        ARRAY_PUSH(&t->pending, ((struct death){.pid = pid}));
        d = &t->pending.at[t->pending.count - 1];
        note_program(t, d);
    }
    return d;
}

static void add_frame(struct death *d, const struct maps *maps, const struct unwind_frame *f) {
    const struct map *map = maps_at(maps, f->pc - !f->exact);
    struct death_frame frame = {.pc = f->pc, .exact = f->exact};
    frame.path = mem_strdup(map ? map->path : "");
    if (map) {
        frame.offset = f->pc - map->start + map->offset;
        frame.inode = map->inode;
        frame.device = map->device;
    }
    ARRAY_PUSH(&d->frames, frame);
}

static void unwind(struct death *d, const struct task *task) {
    struct open_frames *f = open_frames_new(task->space);
    unwind_frames found = {0};
    free_frames(d);
    open_frames_copy(f, task->tid);
    open_frames_walk(f, task->tid, &found);
    d->calls = found.count;
    for (size_t i = 0; i < found.count && i < DEATH_FRAMES; i++)
        add_frame(d, open_frames_code(f), &found.at[i]);
    ARRAY_FREE(&found);
    open_frames_free(f);
}

static size_t stacks(const struct tracer *t) {
    size_t count = 0;
    for (size_t i = 0; i < t->deaths.count; i++)
        count += t->deaths.at[i].frames.count > 0;
    for (size_t i = 0; i < t->pending.count; i++)
        count += t->pending.at[i].frames.count > 0;
    return count;
}

void deaths_note_fault(struct task *task, int sig, uint64_t ticks) {
    siginfo_t info = {0};
    struct regs regs;
    if (!deliver_is_fault(task->tid, sig) || thread_get_regs(task->tid, &regs) < 0)
        return;
    ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info);
    taddr_t address = (taddr_t)(uintptr_t)info.si_addr;
    task->fault = (struct task_fault){sig, regs_pc(&regs), address, ticks};
}

/* The task of TASK's process that has had the last fault with SIG and stands still; NULL: none. */
static const struct task *last_faulted(const struct tracer *t, const struct task *task, int sig) {
    const struct task *last = NULL;
    for (struct task *k = NULL; (k = tasks_next(&t->tasks, k));)
        if (k->pid == task->pid && k->fault.signal == sig && task_stands_still(k) &&
            (!last || k->fault.ticks > last->fault.ticks))
            last = k;
    return last;
}

/* Whether the calls of D show that the fault at PC is not over: the thread is there, or in a
 * handler. */
static bool shows_fault(const struct death *d, taddr_t pc) {
    for (size_t i = 0; i < d->frames.count; i++)
        if (d->frames.at[i].exact && d->frames.at[i].pc == pc)
            return true;
    return false;
}

/* A handler of a fault may send the signal once more, to the process: any thread may get it. Then
 * the fault is what D tells of. Returns whether it is. */
static bool note_handled_fault(struct death *d, const struct tracer *t, const struct task *task) {
    const struct task *k = last_faulted(t, task, d->signal);
    if (d->fault || d->sender != d->pid || !k)
        return false;
    unwind(d, k);
    if (!shows_fault(d, k->fault.pc))
        return false;
    d->tid = k->tid;
    d->fault = true;
    d->address = k->fault.address;
    return true;
}

void deaths_note(struct tracer *t, struct task *task, int sig, uint64_t ticks) {
    siginfo_t info = {0};
    if (is_harmless(sig) || !core_dump_is_deadly(task, sig))
        return;
    struct death *d = add(t, task->pid);
    free_frames(d); /* of an earlier signal, which did not end it */
    ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info);
    d->tid = task->tid;
    d->signal = sig;
    d->code = info.si_code;
    d->fault = deliver_is_fault(task->tid, sig);
    d->address = d->fault ? (taddr_t)(uintptr_t)info.si_addr : 0;
    d->sender = info.si_code <= 0 ? info.si_pid : 0;
    d->ticks = ticks;
    bool unwinds = task->space && stacks(t) < MOST_STACKS;
    if (unwinds && !note_handled_fault(d, t, task))
        unwind(d, task);
    status_name(d->tid, d->thread, sizeof d->thread);
}

/* Keeps D, of a process that has ended, if there is room, or it is the one that is traced. */
static void keep(struct tracer *t, struct death *d) {
    if (t->deaths.count < MOST_DEATHS || d->pid == t->adopted) {
        ARRAY_PUSH(&t->deaths, *d);
    } else {
        free_frames(d);
        t->deaths_left_out++;
    }
    take_out(t, d);
}

void deaths_end(struct tracer *t, pid_t pid, int status) {
    struct death *d = find(t, pid);
    if (!WIFSIGNALED(status)) { /* it has ended otherwise after all */
        if (d) {
            free_frames(d);
            take_out(t, d);
        }
    } else {
        d = add(t, pid);
        if (d->signal != WTERMSIG(status)) { /* SIGKILL, which no tracer sees */
            free_frames(d);
            d->tid = d->sender = d->code = 0;
            d->fault = false;
            d->signal = WTERMSIG(status);
            d->ticks = clock_ticks();
        }
        d->core = WCOREDUMP(status);
        keep(t, d);
    }
}

void deaths_free(death_array *deaths) {
    for (size_t i = 0; i < deaths->count; i++)
        free_frames(&deaths->at[i]);
    ARRAY_FREE(deaths);
}

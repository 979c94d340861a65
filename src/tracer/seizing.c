/* Seizes a process's threads, and those of processes that share its memory, until no look finds
 * more. */
#include "tracer/seizing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/status.h"
#include "target/timing.h"
#include "tracer/stopping.h"

enum { MOST_LOOKS = 1000, PATIENCE_MS = 3000, STARVED_MS = 60000, LOOK_MS = 100 };

/* Seizes TID of PROCESS, which is not traced yet. */
static int seize(struct seizing *s, pid_t process, pid_t tid, struct err *err) {
    struct err why = {0};
    int rc = thread_seize(tid, &why);
    if (rc < 0 && (status_has_ended(tid) || status_tracer_of(tid) == gettid()))
        return 0; /* it is dead; or new, and the kernel has seized it and will report it */
    if (rc < 0) {
        *err = why;
        return rc;
    }
    struct task *task = tasks_add(&s->tracer->tasks, tid);
    task->pid = process;
    task_set_stage(task, s->late ? TASK_LATE : TASK_READY);
    if (process != s->sharing.pid && sharing_is_over(&s->sharing, tid)) {
        task_leave(task, TASK_LEAVES);
        task_interrupt(task);
        return 0;
    }
    task->space = space_ref(s->space);
    s->added++;
    s->sharers |= process != s->sharing.pid;
    return 0;
}

int seizing_unlisted(pid_t process, int reason, struct err *err) {
    return err_set(err, reason, "threads", "process %d: cannot list its threads: %s", process,
                   strerror(reason));
}

/* An unreadable list is an error: it may have threads that run. */
static int cannot_list(struct seizing *s, pid_t process, int why, struct err *err) {
    if (why == ENOENT || why == ESRCH)
        return 0; /* the process has ended, or is ending */
    s->space->unlisted = why;
    return seizing_unlisted(process, why, err);
}

/* Seizes all threads of PROCESS that one look finds. */
static int seize_new(struct seizing *s, pid_t process, struct err *err) {
    AUTO_FREE char *name = mem_printf("/proc/%d/task", process);
    DIR *folder = opendir(name);
    if (!folder)
        return cannot_list(s, process, errno, err);
    int rc = 0;
    for (const struct dirent *e; errno = 0, rc == 0 && (e = readdir(folder));) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid > 0 && !tasks_find(&s->tracer->tasks, tid) && !status_is_worker(tid))
            rc = seize(s, process, tid, err);
    }
    if (rc == 0 && errno)
        rc = cannot_list(s, process, errno, err);
    closedir(folder);
    return rc;
}

int seizing_busy(const struct seizing *s, struct err *err) {
    pid_t tid = find_unstopped(s->tracer, s->space);
    if (!tid && !tasks_find(&s->tracer->tasks, s->sharing.pid))
        return err_set(err, ESRCH, "busy", "process %d: has ended meanwhile", s->sharing.pid);
    if (!tid)
        return err_set(err, EBUSY, "busy",
                       "process %d: has begun another program meanwhile: try again",
                       s->sharing.pid);
    return err_set(
        err, EBUSY, "busy",
        "process %d: cannot be stopped: thread %d waits in the kernel for something that "
        "cannot be interrupted: try again later",
        s->sharing.pid, tid);
}

/* Other processes with the same memory run the same code: seizes them, too. */
static int seize_sharers(struct seizing *s, struct err *err) {
    int rc = 0;
    sharing_update(&s->sharing);
    for (size_t i = 0; i < s->sharing.sharers.count && rc == 0; i++)
        rc = seize_new(s, s->sharing.sharers.at[i], err);
    return rc;
}

/* Notes vfork parents: each stops only when its child has executed a program or exited. */
static void note_vforks(const struct seizing *s) {
    const struct tasks *tasks = &s->tracer->tasks;
    bool any = false; /* looking at what each thread waits for takes long */
    for (struct task *k = tasks_next(tasks, NULL); k && !any; k = tasks_next(tasks, k))
        any = k->space == s->space && k->pid != s->sharing.pid;
    if (!any)
        return;
    for (struct task *k = NULL; (k = tasks_next_in(tasks, k, s->space));) {
        if (k->state == TASK_STOPPED || k->vfork_child || !status_is_in_vfork(k->tid))
            continue;
        for (struct task *c = tasks_next(tasks, NULL); c; c = tasks_next(tasks, c))
            if (c->space == s->space && c->pid != k->pid && status_created(k->tid, c->pid))
                task_set_vfork_child(k, c->tid);
    }
}

/* Notes main threads that have ended: one may have ended before it was asked to report that, while
 * others live. */
static void note_ends(const struct seizing *s) {
    const struct tasks *tasks = &s->tracer->tasks;
    for (struct task *k = NULL; (k = tasks_next_in(tasks, k, s->space));)
        if (k->tid == k->pid && k->state != TASK_STOPPED && k->state != TASK_EXITING &&
            status_has_ended(k->tid))
            task_set_state(k, TASK_EXITING);
}

/* Whether to wait longer after MS milliseconds. On a busy machine a thread may wait long for a
 * processor before it can stop. */
static bool is_patient(const struct seizing *s, int ms) {
    return ms <= PATIENCE_MS ||
           (ms <= STARVED_MS && status_is_runnable(find_unstopped(s->tracer, s->space)));
}

static int seize_once(struct seizing *s, int look, struct err *err) {
    bool others = look == 0 || s->sharers;
    s->sharers = false;
    int rc = seize_new(s, s->sharing.pid, err);
    if (rc == 0 && others)
        rc = seize_sharers(s, err);
    s->begun = s->begun ? s->begun : timing_now().ns;
    for (int i = 1; rc == 0 && is_patient(s, i); i++) {
        if (stop_space_within(s->tracer, s->space, 1))
            return 0;
        if (i % LOOK_MS == 0)
            rc = seize_sharers(s, err);
        note_vforks(s);
        note_ends(s);
    }
    return rc < 0 || !find_unstopped(s->tracer, s->space) ? rc : seizing_busy(s, err);
}

/* A list of threads may miss some if threads end meanwhile: looks once more when all threads have
 * stopped. */
int seizing_all(struct seizing *s, struct err *err) {
    for (int i = 0; i < MOST_LOOKS; i++) {
        s->added = 0;
        int rc = seize_once(s, i, err);
        if (rc < 0 || !s->added)
            return rc;
    }
    return err_set(err, EBUSY, "busy", "process %d: makes threads faster than they can be stopped",
                   s->sharing.pid);
}

/* A living process of SPACE. 0: none. */
static pid_t living_process(const struct tracer *t, const struct space *space) {
    for (struct task *k = NULL; (k = tasks_next_in(&t->tasks, k, space));)
        if (task_is_ready(k) && k->state != TASK_EXITING && !task_is_at_exec(k))
            return k->pid;
    return 0;
}

bool seizing_find_untraced(struct tracer *t, struct space *space, struct untraced *untraced) {
    struct seizing s = {
        .tracer = t, .space = space, .sharing = untraced->sharing, .late = untraced->join};
    struct err err = {0};
    s.sharing.pid = living_process(t, space);
    space->unlisted = 0;
    if (s.sharing.pid) {
        seize_new(&s, s.sharing.pid, &err);
        seize_sharers(&s, &err);
        note_vforks(&s);
    }
    untraced->sharing = s.sharing;
    return s.added || space->unlisted;
}

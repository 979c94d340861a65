/*
 * Attaching: a process that runs is seized thread by thread, stops as a whole, gets memory for what
 * a launched program gets before its first instruction, and runs on while that is filled. From then
 * on it is as one in a pause: it stops again to be patched (live.c). Either stop takes half as long
 * as both would take in one.
 *
 * Seizing stops nobody: all whom a look at the process's threads shows are seized first, and stop
 * together. Who stands makes no more threads; those that it has made since it was seized are the
 * kernel's to seize. So what a look at a process that stands does not add to is complete.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "patch/arrival.h"
#include "patch/install.h"
#include "patch/space_lifecycle.h"
#include "patch/modules.h"
#include "target/candidate.h"
#include "target/maps.h"
#include "target/status.h"
#include "target/timing.h"
#include "tracer/frames.h"
#include "tracer/goroutines.h"
#include "tracer/haste.h"
#include "tracer/taking.h"
#include "tracer/tracer_parts.h"

enum { MOST_LOOKS = 1000, PATIENCE_MS = 3000, STARVED_MS = 60000, LOOK_MS = 100 };

struct seizing {
    struct tracer *tracer;
    struct space *space;
    struct sharing sharing;
    size_t added;
    bool late;      /* they get their lanes when they have stopped */
    bool sharers;   /* some that are not of the process were added */
    uint64_t begun; /* when the first were told to stop; 0: not yet */
};

/* TID is of PROCESS, and not ours yet. */
static int seize(struct seizing *s, pid_t process, pid_t tid, struct err *err) {
    struct err why = {0};
    int rc = thread_seize(tid, &why);
    if (rc < 0 && (status_has_ended(tid) || status_tracer_of(tid) == gettid()))
        return 0; /* dead; or new, and seized by the kernel: to be reported */
    if (rc < 0) {
        *err = why;
        return rc;
    }
    struct task *task = tasks_add(&s->tracer->tasks, tid);
    task->pid = process;
    task->ready = true;
    if (process != s->sharing.pid && sharing_is_over(&s->sharing, tid)) {
        task->leaving = true;
        task_interrupt(task);
        return 0;
    }
    task->space = space_ref(s->space);
    task->late = s->late;
    s->added++;
    s->sharers |= process != s->sharing.pid;
    return 0;
}

/* Of a list that cannot be read nobody knows whether somebody runs who is not on it. */
static int not_listed(pid_t process, int why, struct err *err) {
    if (why == ENOENT || why == ESRCH)
        return 0; /* it has ended, or does so */
    return err_set(err, why, "threads", "process %d: cannot list its threads: %s", process,
                   strerror(why));
}

/* One look at all threads of PROCESS. */
static int seize_new(struct seizing *s, pid_t process, struct err *err) {
    AUTO_FREE char *name = mem_printf("/proc/%d/task", process);
    DIR *folder = opendir(name);
    if (!folder)
        return not_listed(process, errno, err);
    int rc = 0;
    for (const struct dirent *e; errno = 0, rc == 0 && (e = readdir(folder));) {
        pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);
        if (tid > 0 && !tasks_find(&s->tracer->tasks, tid) && !status_is_worker(tid))
            rc = seize(s, process, tid, err);
    }
    if (rc == 0 && errno)
        rc = not_listed(process, errno, err);
    closedir(folder);
    return rc;
}

static int busy(const struct seizing *s, struct err *err) {
    pid_t tid = stopping_laggard(s->tracer, s->space);
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

/* Other processes with the same memory run the same code. */
static int seize_sharers(struct seizing *s, struct err *err) {
    int rc = 0;
    sharing_look(&s->sharing);
    for (size_t i = 0; i < s->sharing.sharers.count && rc == 0; i++)
        rc = seize_new(s, s->sharing.sharers.at[i], err);
    return rc;
}

/* Who waits for a child of vfork stops when that has begun another program: until then the child
 * runs in its place. */
static void note_vforks(const struct seizing *s) {
    const struct tasks *tasks = &s->tracer->tasks;
    bool any = false; /* to look at what threads wait in takes long */
    for (struct task *k = tasks_next(tasks, NULL); k && !any; k = tasks_next(tasks, k))
        any = k->space == s->space && k->pid != s->sharing.pid;
    if (!any)
        return;
    for (struct task *k = tasks_next(tasks, NULL); k; k = tasks_next(tasks, k)) {
        if (k->space != s->space || k->stopped || k->vfork_child || !status_is_in_vfork(k->tid))
            continue;
        for (struct task *c = tasks_next(tasks, NULL); c; c = tasks_next(tasks, c))
            if (c->space == s->space && c->pid != k->pid && status_has_made(k->tid, c->pid))
                k->vfork_child = c->tid;
    }
}

/* A first thread that ends while others live tells of that only if it was asked to before. */
static void note_ends(const struct seizing *s) {
    const struct tasks *tasks = &s->tracer->tasks;
    for (struct task *k = tasks_next(tasks, NULL); k; k = tasks_next(tasks, k))
        if (k->space == s->space && k->tid == k->pid && !k->stopped && !k->exiting)
            k->exiting = status_has_ended(k->tid);
}

/* Whether it is worth waiting on after so many MS. On a busy machine a thread may have to wait long
 * for a processor, to stop on it. */
static bool is_patient(const struct seizing *s, int ms) {
    return ms <= PATIENCE_MS ||
           (ms <= STARVED_MS && status_is_runnable(stopping_laggard(s->tracer, s->space)));
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
    return rc < 0 || !stopping_laggard(s->tracer, s->space) ? rc : busy(s, err);
}

/* All threads, stopped. A list of threads that end meanwhile may leave some out: so the process is
 * looked at once more when nobody runs. */
static int seize_all(struct seizing *s, struct err *err) {
    for (int i = 0; i < MOST_LOOKS; i++) {
        s->added = 0;
        int rc = seize_once(s, i, err);
        if (rc < 0 || !s->added)
            return rc;
    }
    return err_set(err, EBUSY, "busy", "process %d: makes threads faster than they can be stopped",
                   s->sharing.pid);
}

static void look_at_task(struct task *task, const struct task *first) {
    thread_watch_exit(task->tid, task->tid == task->pid);
    if (task == first)
        cede_look_at(task);
    task->watched = first->watched;
}

/* Where goroutines' stacks lie no thread has one that is its own. */
static void leave_out_goroutines(struct maps *maps, const struct arrival *arrival) {
    for (size_t i = 0; i < arrival->stacks.count; i++) {
        const struct map *m = maps_at(maps, arrival->stacks.at[i].start);
        if (m)
            maps_remove(maps, m->start, m->end);
    }
}

static void give_lanes(const struct seizing *s, pid_t caller, const struct arrival *arrival) {
    struct tracer *t = s->tracer;
    struct task *first = NULL;
    struct maps maps = {0};
    maps_read(caller, &maps, NULL);
    leave_out_goroutines(&maps, arrival);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == s->space && k->stopped)
            keys_expect(s->space, k->tid);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (has_begun_program(k))
            continue;
        if (k->space != s->space || !k->stopped) {
            k->late |= k->space == s->space && k->ready && !k->exiting;
            continue;
        }
        if (!k->ready) { /* born, and to be answered; unless we are killed before that */
            keys_give_newborn(s->space, k->tid, space_sink(s->space), k->maker);
            continue;
        }
        first = first ? first : k;
        look_at_task(k, first);
        family_join(t, k, &maps);
    }
    maps_done(&maps);
}

void gather_arrival(const struct tracer *t, const struct space *space, const struct maps *maps,
                    struct arrival *ret) {
    const struct tasks *tasks = &t->tasks;
    for (struct task *k = tasks_next(tasks, NULL); k; k = tasks_next(tasks, k))
        if (stands_in(k, space) || (k->space == space && k->vfork_child))
            arrival_add(ret, space->remote.memory_fd, maps, k->tid);
    aside_gather(space->aside, space->remote.memory_fd, &ret->aside);
    goroutines_find(space, ret);
}

void tell_arrival(const struct tracer *t, const struct space *space,
                  const struct arrival *arrival) {
    const struct tasks *tasks = &t->tasks;
    for (struct task *k = tasks_next(tasks, NULL); k; k = tasks_next(tasks, k))
        if (k->space == space && k->slot && !k->slot->unread) {
            goroutines_tell(space, arrival, k->slot, options_of(t)->overflow);
            return;
        }
}

/* All threads stand. */
static int move_in(const struct seizing *s, struct err *err) {
    struct tracer *t = s->tracer;
    const struct task *caller = stop_with_caller(t, s->space);
    if (!caller)
        return busy(s, err);
    pid_t tid = caller->tid;
    int rc = space_enter(&t->options.context, s->space, tid, err);
    if (rc < 0)
        return rc;
    struct arrival arrival = {.pcs = {0}};
    goroutines_find(s->space, &arrival);
    give_lanes(s, tid, &arrival);
    arrival_done(&arrival);
    space_map_prepared(s->space, tid);
    return 0;
}

/* What happens to others while they stand. In a pause it is not told what is open. */
void join_late(struct tracer *t, struct task *task) {
    struct frames *frames = frames_new(task->space);
    task->late = false;
    if (!space_is_lifted(task->space))
        frames_copy(frames, task->tid);
    if (!task->slot) {
        struct maps maps = {0};
        maps_read(task->tid, &maps, NULL);
        thread_watch_exit(task->tid, task->tid == task->pid);
        family_join(t, task, &maps);
        maps_done(&maps);
    }
    frames_stand(frames);
    if (!task->slot->unread)
        frames_name(frames, task->tid, task->stream, task->slot);
    frames_tell(frames, t->options.drain);
    frames_free(frames);
}

/* A process of SPACE's that lives. 0: none. */
static pid_t living_process(const struct tracer *t, const struct space *space) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->space == space && k->ready && !k->exiting)
            return k->pid;
    return 0;
}

bool seizing_find_strays(struct tracer *t, struct space *space, struct strays *strays) {
    struct seizing s = {
        .tracer = t, .space = space, .sharing = strays->sharing, .late = strays->join};
    struct err err = {0};
    s.sharing.pid = living_process(t, space);
    if (s.sharing.pid) {
        seize_new(&s, s.sharing.pid, &err);
        seize_sharers(&s, &err);
        note_vforks(&s);
    }
    strays->sharing = s.sharing;
    return s.added;
}

int seizing_stop_all(struct tracer *t, struct space *space, pid_t pid, struct err *err) {
    struct seizing s = {.tracer = t, .space = space, .sharing.pid = pid};
    sharing_look(&s.sharing);
    int rc = seize_all(&s, err);
    sharing_done(&s.sharing);
    return rc;
}

int tracer_foresee(const struct tracer *t, pid_t pid, struct space **ret, struct err *err) {
    int rc = space_foresee(&t->options.context, pid, ret, err);
    return rc < 0 ? rc : taking_check_code(*ret, err);
}

/* Whether all threads have the register free that lanes hang off. */
static int check_lanes(const struct seizing *s, struct err *err) {
    const struct tasks *tasks = &s->tracer->tasks;
    int rc = 0;
    for (struct task *k = tasks_next(tasks, NULL); k && rc == 0; k = tasks_next(tasks, k))
        if (k->space == s->space)
            rc = taking_check_thread(k->tid, err);
    return rc;
}

/* On error no thread of it is ours any more. */
static int enter(struct seizing *s, struct err *err) {
    int rc = seize_all(s, err);
    if (rc == 0)
        rc = check_lanes(s, err);
    if (rc == 0)
        rc = move_in(s, err);
    if (rc < 0)
        release_stopped(s->tracer, s->space, NULL);
    else
        resume_space(s->tracer, s->space);
    return rc;
}

/* It has been entered. Who cannot be stopped a second time follows when it can. */
static int patch(const struct seizing *s, uint64_t *ret_ns, struct err *err) {
    struct tracer *t = s->tracer;
    struct err later = {0};
    space_fill(s->space);
    if (live_follow(t, ret_ns, &later) < 0)
        tracer_warn(t, s->sharing.pid, &later);
    int rc = taking_check_code(s->space, err);
    if (rc < 0)
        tracer_release_all(t);
    return rc;
}

int tracer_attach(struct tracer *t, struct space *space, pid_t pid, struct err *err) {
    struct seizing s = {.tracer = t, .space = space, .sharing.pid = pid};
    struct haste haste;
    uint64_t patched_ns = 0;
    t->adopted = pid;
    family_tell_process(t, pid);
    cede_watches(pid); /* known when all stand */
    taking_is_possible(pid);
    sharing_look(&s.sharing);
    haste_begin(&haste);
    int rc = enter(&s, err);
    t->pauses.attach_ns = s.begun ? timing_now().ns - s.begun : 0;
    haste_end(&haste);
    if (rc == 0)
        rc = patch(&s, &patched_ns, err);
    if (patched_ns > t->pauses.attach_ns)
        t->pauses.attach_ns = patched_ns;
    sharing_done(&s.sharing);
    return rc;
}

#include "tracer/tracer.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "patch/access.h"
#include "patch/modules.h"
#include "target/status.h"
#include "tracer/taking.h"
#include "tracer/tracer_parts.h"

struct tracer *tracer_new(const struct tracer_options *options) {
    struct tracer *t = mem_alloc(sizeof *t);
    t->options = *options;
    return t;
}

void tracer_warn(const struct tracer *t, pid_t tid, const struct err *err) {
    struct regs regs;
    if (err->code != ESRCH && thread_get_regs(tid, &regs) != -ESRCH)
        report_warn(&options_of(t)->report, err->text);
}

/* Some stopped task of SPACE has the memory that was traced still. */
static bool has_survivor(const struct tracer *t, const struct space *space) {
    struct regs regs;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (stands_in(k, space) && !k->exiting && thread_get_regs(k->tid, &regs) == 0)
            return true;
    return false;
}

void tracer_tell_left(struct tracer *t, const struct space *space, const struct err *err) {
    if (err->code == ESRCH || !has_survivor(t, space))
        return;
    t->left = true;
    report_complain(&options_of(t)->report, err->text);
}

void tracer_resume(struct tracer *t, pid_t tid, int sig) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (task)
        rests_go_on(task);
    if (task && task->space && sig)
        aside_note(task->space->aside, tid);
    if (task && task->space && task->space->traps.standing)
        traps_resume(t, task, sig);
    else if (task && task->watched)
        thread_continue_to_call(tid, sig);
    else if (task)
        thread_continue(tid, sig);
}

static void answer_event(struct tracer *t, struct task *task, int event, int sig) {
    pid_t tid = task->tid;
    switch (event) {
    case PTRACE_EVENT_EXEC:
        if (!family_exec(t, task))
            return;
        break;
    case PTRACE_EVENT_STOP:
        task->standing = is_stop_signal(sig) && thread_listen(tid) == 0;
        if (task->standing)
            return;
        break; /* after a remote call it reports its group-stop once more when continued */
    default:
        break;
    }
    tracer_resume(t, tid, 0);
}

/* TASK is about to get stop signal SIG. */
static void note_stop(struct tracer *t, const struct task *task, int sig) {
    siginfo_t info;
    if (task->pid != t->adopted || ptrace(PTRACE_GETSIGINFO, task->tid, NULL, &info) < 0)
        return;
    t->stop = (struct tracer_stop){t->stop.number + 1, sig, info.si_code, 0};
    if (info.si_code <= 0) /* sent by a process */
        t->stop.sender = info.si_pid;
}

/* TASK stands at a system call. Returns false when it is gone. */
static bool answer_call(struct tracer *t, struct task *task) {
    if (task->space && task->space->traps.standing && !traps_at_call(t, task))
        return false;
    return !task->watched || cede_at_call(t, task);
}

void tracer_answer(struct tracer *t, struct task *task) {
    pid_t tid = task->tid;
    task->stopped = false;
    if (!task->ready && !family_first_stop(t, task))
        return;
    if (task->late)
        join_late(t, task);
    if (task->hit) {
        traps_count(t, task);
        task = tasks_find(&t->tasks, tid);
        if (!task)
            return;
    }
    int event = task->status >> 16, sig = WSTOPSIG(task->status);
    if (event) {
        answer_event(t, task, event, sig);
        return;
    }
    if (is_call_stop(task->status)) {
        if (answer_call(t, task))
            tracer_resume(t, tid, 0);
        return;
    }
    if (is_stop_signal(sig))
        note_stop(t, task, sig);
    bool wanted = !traps_ignore(task, sig) && deliver_prepare(t, task, sig);
    task = tasks_find(&t->tasks, tid); /* it may be gone: killed meanwhile */
    if (wanted && task && dying_let_go(t, task, sig))
        return;
    if (wanted && task)
        dying_prepare(t, task, sig);
    if (is_stop_signal(sig) && thread_is_continued(tid))
        wanted = false;
    tracer_resume(t, tid, wanted ? sig : 0);
}

/* PID has ended; it may have been let go before. */
static void remember_end(struct tracer *t, pid_t pid, int status) {
    struct ended e = {pid, status};
    if (pid == t->adopted)
        ARRAY_PUSH(&t->ended, e);
}

static void on_end(struct tracer *t, struct task *task, int status) {
    remember_end(t, task->tid, status);
    if (WIFSIGNALED(status))
        orphans_remember(t, task);
    family_forget(t, task);
}

/* Answering one task may end others (their deaths are reported meanwhile): so by thread id. */
void tracer_answer_all(struct tracer *t, tid_array *tids) {
    for (size_t i = 0; i < tids->count; i++) {
        struct task *k = tasks_find(&t->tasks, tids->at[i]);
        if (k && k->stopped && !(k->space && k->space->stopping))
            tracer_answer(t, k);
    }
    ARRAY_FREE(tids);
}

void tracer_answer_newborns(struct tracer *t) {
    tid_array tids = {0};
    unsigned waiting = 0;
    if (!t->unknown_newborns)
        return;
    orphans_adopt(t);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->stopped || k->ready)
            continue;
        if (!k->pid || (k->space && k->space->stopping))
            waiting++;
        else
            ARRAY_PUSH(&tids, k->tid);
    }
    t->unknown_newborns = waiting;
    tracer_answer_all(t, &tids);
}

static bool is_birth(int event) {
    return event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
}

static void on_stop(struct tracer *t, struct task *task, int status) {
    if (task->lent && task->space && task->slot)
        keys_pass(task->space, task->tid, task->slot->at, 0);
    task->lent = false;
    task->stuck = false;
    task->vfork_child = 0; /* it runs, so its child is done with the shared memory */
    task->stopped = true;
    task->standing = false;
    task->finished = false;
    task->status = status;
    if (!is_call_stop(status))
        rests_end(task);
    if (task->space && task->space->traps.any && !traps_meet(t, task)) {
        task->stopped = false;
        return;
    }
    if (is_birth(status >> 16))
        family_birth(t, task, status >> 16);
    if (status >> 16 == PTRACE_EVENT_EXEC)
        family_forget_threads(t, task);
    if (task->leaving) {
        part_when_stopped(t, task);
        return;
    }
    if (is_unknown_newborn(task))
        t->unknown_newborns++;
    else
        deliver_mend_call(task);
    if (!is_unknown_newborn(task) && !(task->space && task->space->stopping))
        tracer_answer(t, task);
}

void tracer_report(struct tracer *t, pid_t tid, int status) {
    struct task *task = tasks_find(&t->tasks, tid);
    if (!task && WIFSTOPPED(status))
        task = tasks_add(&t->tasks, tid);
    if (task && !WIFSTOPPED(status))
        on_end(t, task, status);
    else if (tid == t->adopted && !task)
        remember_end(t, tid, status);
    else if (status >> 16 == PTRACE_EVENT_EXIT)
        family_exit(t, task);
    else if (task)
        on_stop(t, task, status);
    tracer_answer_newborns(t);
}

bool tracer_handle_reports(struct tracer *t) {
    enum { MOST_AT_ONCE = 500 };
    int status;
    pid_t tid = 0;
    for (int i = 0; i < MOST_AT_ONCE && (tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0; i++)
        tracer_report(t, tid, status);
    return tid > 0;
}

int tracer_adopt(struct tracer *t, pid_t pid, struct err *err) {
    struct task *task = tasks_add(&t->tasks, pid);
    task->pid = pid;
    task->ready = true;
    task->stopped = true;
    t->adopted = pid;
    if (privilege_let_go(t, task))
        return 0;
    cede_look_at(task);
    thread_watch_exit(pid, true);
    return family_set_up_program(t, task, false, err);
}

void tracer_start(struct tracer *t, pid_t pid) {
    struct task *task = tasks_find(&t->tasks, pid);
    if (!task)
        return; /* let go */
    task->stopped = false;
    tracer_resume(t, pid, 0);
}

static struct task *find_hooked(const struct tracer *t) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->slot && !k->slot->unread && __atomic_load_n(&k->slot->lane->hook, __ATOMIC_ACQUIRE))
            return k;
    return NULL;
}

/* SPACE, stopped, may have loaded what takes the register that lanes hang off: it is watched, or
 * (*RET_LEAVE) to be left at once. */
static void look_for_taking(struct tracer *t, const struct space *space, bool *ret_leave) {
    struct err err = {0};
    bool possible = taking_is_possible(space->pid);
    *ret_leave = taking_check_code(space, &err) < 0;
    if (*ret_leave)
        tracer_warn(t, space->pid, &err);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        k->watched |= possible && k->space == space;
}

/* Returns whether TASK needs no more to wait. If it stands before a signal, that comes first. */
static bool handle_hook(struct tracer *t, const struct task *task) {
    struct space *space = space_ref(task->space);
    struct slot *slot = task->slot;
    pid_t tid = task->tid;
    struct err err = {0};
    stop_space(t, space);
    task = tasks_find(&t->tasks, tid);
    bool here = task && task->slot == slot;
    bool able = here && may_call(task);
    pid_t caller = able ? free_caller(t, task) : tid;
    bool gained = able && access_gain(space, caller), leave = false;
    if (able && space_update(&t->options.context, space, caller, &err) < 0)
        tracer_warn(t, tid, &err);
    if (able)
        traps_arm(t, space, caller);
    if (able)
        look_for_taking(t, space, &leave);
    if (gained)
        access_give_back(space, caller);
    if (able)
        __atomic_store_n(&slot->lane->hook, 0, __ATOMIC_RELEASE);
    if (leave)
        part_with_space(t, space);
    else
        resume_space(t, space);
    space_unref(space);
    return able || !here;
}

/* Whether one of those of SPACE that stand waits in the agent. */
static bool has_waiter(const struct tracer *t, const struct space *space) {
    struct regs regs;
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!stands_in(k, space) || thread_get_regs(k->tid, &regs) < 0)
            continue;
        const struct patched *p = space_area_at(space, regs_pc(&regs));
        if (p && regs_agent_place(&regs, p->area) != AGENT_OUTSIDE)
            return true;
    }
    return false;
}

/* Who waits for a child of vfork cannot be stopped before that ends. The child may be one that we
 * do not know, and itself be waiting for us. */
static void stop_askers(struct tracer *t, struct space *space) {
    enum { PATIENCE_MS = 20 };
    struct strays strays = {.join = true};
    if (!stop_space_within(t, space, PATIENCE_MS) && status_is_in_vfork(stopping_laggard(t, space)))
        seizing_find_strays(t, space, &strays);
    sharing_done(&strays.sharing);
    stop_space(t, space);
}

/* Some threads of SPACE have changed their thread pointers, or their stacks where these tell them
 * apart: where lanes are found by that, the threads wait. Returns whether one was seen that did. */
static bool handle_asking(struct tracer *t, struct space *space) {
    space_ref(space);
    stop_askers(t, space);
    bool any = has_waiter(t, space);
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!stands_in(k, space) || !k->slot)
            continue;
        keys_give(space, k->tid, k->slot->at);
        k->mark = keys_mark(k->tid);
    }
    keys_tell_apart(space);
    keys_are_asked_for(space); /* up to now */
    resume_space(t, space);
    space_unref(space);
    return any;
}

/* Of those that we know nobody asked. */
static void look_for_asker(struct tracer *t, struct space *space) {
    struct strays strays = {.join = true};
    if (seizing_find_strays(t, space, &strays))
        handle_asking(t, space);
    sharing_done(&strays.sharing);
}

static bool is_among(struct space *const *spaces, size_t count, const struct space *space) {
    for (size_t i = 0; i < count; i++)
        if (spaces[i] == space)
            return true;
    return false;
}

/* Spaces share what they ask by with those that they come from by fork: all are looked at. */
static void handle_askers(struct tracer *t) {
    ARRAY(struct space *) asking = {0};
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (!k->space || !k->space->slabs.count || !keys_are_asked_for(k->space))
            continue;
        for (struct task *o = tasks_next(&t->tasks, NULL); o; o = tasks_next(&t->tasks, o))
            if (o->space && space_sink(o->space) == space_sink(k->space) &&
                !is_among(asking.at, asking.count, o->space))
                ARRAY_PUSH(&asking, space_ref(o->space));
    }
    bool any = false;
    for (size_t i = 0; i < asking.count; i++)
        any |= handle_asking(t, asking.at[i]);
    for (size_t i = 0; i < asking.count; i++) {
        if (!any)
            look_for_asker(t, asking.at[i]);
        space_unref(asking.at[i]);
    }
    ARRAY_FREE(&asking);
}

void tracer_handle_hooks(struct tracer *t) {
    handle_askers(t);
    for (const struct task *k; (k = find_hooked(t)) && handle_hook(t, k);)
        ;
}

struct tracer_pauses tracer_pauses(const struct tracer *t) {
    return t->pauses;
}

bool tracer_left_something(const struct tracer *t) { return t->left; }

size_t tracer_task_count(const struct tracer *t) { return t->tasks.count; }

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

bool tracer_stopped(const struct tracer *t, struct tracer_stop *ret) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->pid == t->adopted && k->standing) {
            *ret = t->stop;
            return true;
        }
    return false;
}

void tracer_free(struct tracer *t) {
    if (!t)
        return;
    for (struct task *k; (k = tasks_next(&t->tasks, NULL));)
        family_forget(t, k);
    orphans_done(t);
    ARRAY_FREE(&t->ended);
    free(t);
}

static void answer_meanwhile(void *tracer) { tracer_handle_reports(tracer); }

void tracer_look_aside(struct tracer *t, struct space *space) {
    aside_look(&space->aside, space->remote.memory_fd, space_thread(space),
               &(struct aside_pace){answer_meanwhile, t});
}

/* Remote calls: the thread's state is saved, it makes a call or several, and gets its state back.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/memory.h"
#include "target/thread_requests.h"

int thread_call_error(struct err *err, pid_t tid, int rc) {
    if (rc == -EOPNOTSUPP)
        return err_set(
            err, -rc, "remote-call",
            "thread %d: its system calls go to a handler (PR_SET_SYSCALL_USER_DISPATCH): "
            "spoor can bypass it only on Linux 6.4 or later",
            tid);
    return err_set(err, -rc, "remote-call", "thread %d: cannot make a system call in it: %s", tid,
                   strerror(-rc));
}

/* A thread's state before its remote call. */
struct saved_state {
    struct regs regs;
    uint64_t mask;
    taddr_t sp;  /* of the frame from which the thread restores this state by itself */
    size_t size; /* of that frame */
};

/* Writes a signal frame with all registers to the site's frame, or below the red zone. */
static int write_frame(pid_t tid, const struct remote_site *site, const struct regs *regs,
                       struct saved_state *c) {
    enum { RED_ZONE = 128 };
    AUTO_FREE uint8_t *bytes = mem_alloc(EXTENDED_ROOM);
    struct regs_extended extended = thread_get_extended(tid, bytes);
    if (site->frame && regs_signal_frame_size(extended.size) > REMOTE_FRAME_BYTES)
        extended.size = 0;
    size_t size = regs_signal_frame_size(extended.size);
    AUTO_FREE uint8_t *frame = mem_alloc(size);
    taddr_t at = site->frame ? site->frame : (regs_sp(regs) - RED_ZONE - size) & ~(taddr_t)63;
    regs_signal_frame(frame, at, regs, c->mask, &extended);
    c->sp = at + REGS_FRAME_SP;
    c->size = size;
    return memory_write(site->memory_fd, at, frame, size, NULL);
}

/* Saves the thread's state in *C and, for the thread itself, in its own memory. */
static int save_state(pid_t tid, const struct remote_site *site, struct saved_state *c) {
    int rc = thread_get_regs(tid, &c->regs);
    if (rc == 0)
        rc = request(PTRACE_GETSIGMASK, tid, (void *)sizeof c->mask, &c->mask);
    if (rc < 0)
        return rc;
    struct regs alone = c->regs;
    regs_finish_restart(&alone);
    return write_frame(tid, site, &alone, c);
}

static bool in_group_stop(pid_t tid) { return thread_event_stop(tid) == STOP_GROUP; }

/* Runs the thread to the end of the system call that it is set up for. −EINTR: it faulted;
 * −EOPNOTSUPP: its calls go to a handler of its own. */
static int run_call(pid_t tid, struct meanwhile *m) {
    for (int stops = 0, next_signal = 0; stops < 2;) {
        struct stop stop;
        int rc = thread_then_wait(thread_continue_to_syscall(tid, next_signal), tid, &stop);
        if (rc < 0)
            return rc;
        bool call = stop.kind == STOP_SYSCALL, sent = !call && !thread_note_stop(m, &stop);
        if (sent && thread_is_raised(tid, stop.signal))
            return stop.signal == SIGSYS ? -EOPNOTSUPP : -EINTR;
        stops += call;
        next_signal = sent ? stop.signal : 0;
        rc = sent ? thread_also_block(tid, stop.signal) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* System call user dispatch: struct ptrace_sud_config of linux/ptrace.h. */
struct dispatch {
    uint64_t on, selector, start, size;
};
enum { SET_DISPATCH = 0x4210, GET_DISPATCH = 0x4211 }; /* since Linux 6.4 */

/* Lets TID's calls reach the kernel, until resume_dispatch(). */
static void suspend_dispatch(pid_t tid, struct dispatch *before) {
    struct dispatch none = {0};
    *before = none;
    if (request(GET_DISPATCH, tid, (void *)sizeof *before, before) < 0)
        before->on = false;
    if (before->on)
        request(SET_DISPATCH, tid, (void *)sizeof none, &none);
}

static void resume_dispatch(pid_t tid, struct dispatch *before) {
    if (before->on)
        request(SET_DISPATCH, tid, (void *)sizeof *before, before);
}

/* The thread is behind its remote call. If REGS, which it will get back, belong to a call that is
 * to be restarted, stops it where the kernel looks for that. Then the kernel restarts the program's
 * call, unless a signal has come. (Processors whose kernel looks before the stop do not take REGS
 * for the remote call's result.) */
static int leave_call(pid_t tid, const struct regs *regs, struct meanwhile *m) {
    return regs_would_restart(regs) ? thread_halt(tid, m) : 0;
}

/* The tool may die at any moment, and must leave the thread in a state of its own. So all signals
 * are blocked only while the registers are those of the remote call. If the tool dies then, the
 * thread restores itself from its signal frame, which holds its mask, too. */
int thread_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                int64_t *ret_result, struct err *err) {
    struct saved_state c;
    struct dispatch dispatch;
    struct meanwhile m = {.group_stop = in_group_stop(tid)};
    int rc = save_state(tid, site, &c);
    if (rc < 0)
        return thread_call_error(err, tid, rc);
    AUTO_FREE void *vectors = thread_save_vectors(tid);
    uint64_t all = ~(UINT64_C(1) << (SIGSYS - 1)); /* blocked, the kernel would reset its action */
    suspend_dispatch(tid, &dispatch);
    struct regs regs = c.regs;
    regs_set_syscall(&regs, site->code, c.sp, call->number, call->args);
    rc = thread_set_regs(tid, &regs);
    if (rc == 0)
        rc = request(PTRACE_SETSIGMASK, tid, (void *)sizeof all, &all);
    if (rc == 0)
        rc = run_call(tid, &m);
    if (rc == 0)
        rc = thread_get_regs(tid, &regs);
    if (rc == 0)
        rc = leave_call(tid, &c.regs, &m);
    request(PTRACE_SETSIGMASK, tid, (void *)sizeof c.mask, &c.mask);
    int back = thread_set_regs(tid, &c.regs);
    resume_dispatch(tid, &dispatch);
    thread_restore_vectors(tid, vectors);
    thread_redeliver(tid, &m);
    if (rc < 0 || back < 0)
        return thread_call_error(err, tid, rc < 0 ? rc : back);
    *ret_result = regs_syscall_result(&regs);
    return 0;
}

int thread_detach_by_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                          struct err *err) {
    struct saved_state c = {0};
    int rc = save_state(tid, site, &c);
    struct regs regs = c.regs;
    if (rc == 0) {
        regs_set_syscall(&regs, site->code, c.sp, call->number, call->args);
        rc = thread_set_regs(tid, &regs);
    }
    if (rc == 0)
        rc = thread_detach(tid, 0);
    return rc < 0 ? thread_call_error(err, tid, rc) : 0;
}

/* ---- several calls in a row ---- */

/*
 * One call of a series, as the agent's code reads it: a table stands in the upper part of the
 * site's frame, and data of the calls behind it. The last entry is the signal by which the thread
 * stops. SIGURG: by default it does nothing, so it harms no thread whose tool was killed.
 */
struct entry {
    uint64_t number, args[6];
    uint64_t results[2]; /* addresses: where the result is put */
};
enum { TABLE_AT = 8192, TABLE_BYTES = REMOTE_FRAME_BYTES - TABLE_AT, SERIES_SIGNAL = SIGURG };
_Static_assert(sizeof(struct entry) == REMOTE_ENTRY_BYTES, "as in src/agent");

struct series {
    const struct remote_site *site;
    struct remote_step *steps;
    size_t count;
    uint8_t table[TABLE_BYTES];
    size_t size; /* of the table, with its data */
    taddr_t at;
};

static struct entry *entry_of(struct series *s, size_t i) {
    return (struct entry *)(void *)s->table + i;
}

/* Where the result of step I is put: into an argument of a later step, or behind the entries. WHICH
 * of two places, which may be the same. */
static size_t result_at(const struct series *s, size_t i, size_t which) {
    static const struct remote_argument none;
    const struct remote_argument *into = i < s->count ? &s->steps[i].into[which] : &none;
    const size_t entry = sizeof(struct entry), argument = offsetof(struct entry, args);
    return into->step ? into->step * entry + argument + into->argument * sizeof(uint64_t)
                      : (s->count + 1) * entry + i * sizeof(uint64_t);
}

/* Where data begin, and what their size takes there: nothing of this is read from the thread. */
static size_t data_start(const struct series *s) {
    return (s->count + 1) * (sizeof(struct entry) + sizeof(uint64_t));
}
static size_t data_room(size_t size) { return (size + 7) & ~(size_t)7; }

/* Enters step I; its data go behind all other. False: there is no room. */
static bool enter(struct series *s, size_t i) {
    const struct remote_step *step = &s->steps[i];
    struct entry *e = entry_of(s, i);
    e->number = (uint64_t)step->call.number;
    memcpy(e->args, step->call.args, sizeof e->args);
    for (size_t k = 0; k < 2; k++)
        e->results[k] = s->at + result_at(s, i, k);
    if (!step->data.bytes)
        return true;
    if (step->data.size > TABLE_BYTES - s->size)
        return false;
    memcpy(s->table + s->size, step->data.bytes, step->data.size);
    e->args[step->data.argument] = s->at + s->size;
    s->size += data_room(step->data.size);
    return true;
}

/* The calls that S makes in TID, and the signal. */
static bool make_table(struct series *s, pid_t tid) {
    const pid_t process = status_innermost_pid(tid), own = status_innermost_tid(tid);
    s->at = s->site->frame + TABLE_AT;
    s->size = data_start(s);
    if (!process || !own || s->size > TABLE_BYTES)
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (!enter(s, i))
            return false;
    const uint64_t nowhere = s->at + result_at(s, s->count, 0);
    *entry_of(s, s->count) = (struct entry){
        SYS_tgkill, {(uint64_t)process, (uint64_t)own, SERIES_SIGNAL}, {nowhere, nowhere}};
    return true;
}

static int take_results(struct series *s) {
    int rc = memory_read(s->site->memory_fd, s->at, s->table, s->size, NULL);
    size_t at = data_start(s);
    for (size_t i = 0; i < s->count && rc == 0; i++) {
        struct remote_step *step = &s->steps[i];
        memcpy(&step->result, s->table + result_at(s, i, 0), sizeof step->result);
        if (!step->data.bytes)
            continue;
        memcpy(step->data.bytes, s->table + at, step->data.size);
        at += data_room(step->data.size);
    }
    return rc;
}

/* Whether TID's SIGURG is the series' own. Another one may have come before, or in its stead. */
static bool is_own_signal(pid_t tid) {
    siginfo_t info;
    return request(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code == SI_TKILL &&
           info.si_pid == status_innermost_pid(tid);
}

/* Runs the thread up to the signal. Another SIGURG may come before, or in the signal's stead; it is
 * sent again. */
static int run_series(pid_t tid, const struct series *s, struct meanwhile *m) {
    const taddr_t end = s->at + (s->count + 1) * sizeof(struct entry);
    for (int next_signal = 0;;) {
        struct regs regs;
        struct stop stop;
        int rc = thread_then_wait(thread_continue(tid, next_signal), tid, &stop);
        if (rc == 0)
            rc = thread_get_regs(tid, &regs);
        if (rc < 0)
            return rc;
        const int sig = stop.signal;
        bool sent = !thread_note_stop(m, &stop);
        const bool stopping = sent && sig == SERIES_SIGNAL,
                   ends = stopping && regs_series_entry(&regs) == end;
        m->stop_signal |= stopping && !(ends && is_own_signal(tid));
        if (ends)
            return 0;
        if (sent && thread_is_raised(tid, sig))
            return sig == SIGSYS ? -EOPNOTSUPP : -EINTR;
        next_signal = sent && sig != SERIES_SIGNAL ? sig : 0;
        rc = next_signal ? thread_also_block(tid, sig) : 0;
        if (rc < 0)
            return rc;
    }
}

/* As thread_call(). */
static int make_series(pid_t tid, struct series *s, struct saved_state *c, struct meanwhile *m) {
    struct dispatch dispatch;
    uint64_t all = ~(UINT64_C(1) << (SIGSYS - 1) | UINT64_C(1) << (SERIES_SIGNAL - 1));
    AUTO_FREE void *vectors = thread_save_vectors(tid);
    struct regs regs = c->regs;
    suspend_dispatch(tid, &dispatch);
    regs_set_series(&regs, s->site->series, c->sp, s->at, s->count + 1);
    int rc = thread_set_regs(tid, &regs);
    if (rc == 0)
        rc = thread_set_mask(tid, all);
    if (rc == 0)
        rc = run_series(tid, s, m);
    thread_set_mask(tid, c->mask);
    int back = thread_set_regs(tid, &c->regs);
    resume_dispatch(tid, &dispatch);
    thread_restore_vectors(tid, vectors);
    return rc < 0 ? rc : back;
}

/* Whether TID can be stopped by the signal, and stands where its state can be set. */
static bool may_run_series(pid_t tid, const struct remote_site *site) {
    struct regs regs;
    return site->series && site->frame && thread_get_regs(tid, &regs) == 0 &&
           !regs_would_restart(&regs) && !in_group_stop(tid) &&
           !thread_has_any_pending(tid, SERIES_SIGNAL);
}

int thread_calls(pid_t tid, const struct remote_site *site, struct remote_step *steps, size_t count,
                 struct err *err) {
    struct series s = {.site = site, .steps = steps, .count = count};
    struct saved_state c = {0};
    struct meanwhile m = {0};
    if (!may_run_series(tid, site) || !make_table(&s, tid))
        return -ENOTSUP;
    int rc = save_state(tid, site, &c);
    if (rc == 0 && c.size > TABLE_AT)
        return -ENOTSUP;
    if (rc == 0)
        rc = memory_write(site->memory_fd, s.at, s.table, s.size, NULL);
    if (rc == 0)
        rc = make_series(tid, &s, &c, &m);
    if (rc == 0)
        rc = take_results(&s);
    thread_redeliver(tid, &m);
    return rc < 0 ? thread_call_error(err, tid, rc) : 0;
}

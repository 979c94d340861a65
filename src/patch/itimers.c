/* Reads and sets the target's interval timers by remote calls. */
#include "patch/itimers.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"
#include "patch/permits.h"
#include "patch/remote.h"

enum {
    STOPS = 3, /* exec, and twice the hook: before and after the libraries are mapped (glibc) */
    GENEROUS = 100, /* images */
    MASK_BYTES = 8
};
static const uint64_t US_NS = 1000, S_NS = 1000000000, SHORT_NS = 1000000000, LONG_NS = 2000000000;

static const struct {
    int which, signal;
} timers[ITIMERS] = {{ITIMER_REAL, SIGALRM}, {ITIMER_VIRTUAL, SIGVTALRM}, {ITIMER_PROF, SIGPROF}};

struct kernel_itimerval { /* the system calls' struct __kernel_old_itimerval */
    long interval_s, interval_us, left_s, left_us;
};
struct kernel_wait { /* arguments of rt_sigtimedwait: a set of signals, and no time */
    uint64_t set;
    long timeout[4]; /* of either kind of struct timespec */
};
_Static_assert(sizeof(struct kernel_itimerval) <= SLAB_SCRATCH_BYTES, "");
_Static_assert(sizeof(struct kernel_itimerval) == sizeof(long[4]), "");
_Static_assert(sizeof(struct kernel_wait) <= SLAB_SCRATCH_BYTES, "");

static bool call(struct space *s, pid_t tid, const struct remote_call *c) {
    int64_t result;
    return space_call(s, tid, c, &result, NULL) == 0;
}

static bool get_timer(struct space *s, pid_t tid, int which, struct kernel_itimerval *ret) {
    const struct slab *slab = s->slabs.at[0];
    if (!call(s, tid, &(struct remote_call){SYS_getitimer, {(uint64_t)which, slab_scratch(slab)}}))
        return false;
    memcpy(ret, slab_scratch_here(slab), sizeof *ret);
    return true;
}

static bool set_timer(struct space *s, pid_t tid, int which, const struct kernel_itimerval *value) {
    const struct slab *slab = s->slabs.at[0];
    memcpy(slab_scratch_here(slab), value, sizeof *value);
    return call(s, tid,
                &(struct remote_call){SYS_setitimer, {(uint64_t)which, slab_scratch(slab), 0}});
}

/* TID's process has SIGNAL pending, and TID blocks it during the call: takes it out of the queue.
 */
static void take_signal(struct space *s, pid_t tid, int signal) {
    const struct slab *slab = s->slabs.at[0];
    const struct kernel_wait wait = {.set = UINT64_C(1) << (signal - 1)};
    const taddr_t at = slab_scratch(slab);
    memcpy(slab_scratch_here(slab), &wait, sizeof wait);
    call(s, tid,
         &(struct remote_call){SYS_rt_sigtimedwait,
                               {at, 0, at + offsetof(struct kernel_wait, timeout), MASK_BYTES}});
}

struct delay {
    uint64_t ns;    /* by which a timer is postponed */
    uint64_t least; /* that it then has left, in ns */
};

static void postpone(struct kernel_itimerval *value, struct delay delay) {
    const uint64_t left =
        (uint64_t)value->left_s * S_NS + (uint64_t)value->left_us * 1000 + delay.ns;
    const uint64_t wanted = left < delay.least ? delay.least : left;
    value->left_s = (long)(wanted / S_NS);
    value->left_us = (long)(wanted % S_NS / 1000);
}

/* A signal of the timer that is pending and not blocked has come since the thread stopped. Returns
 * whether the timer runs. */
static bool postpone_timer(struct space *s, pid_t tid, int i, struct delay delay) {
    struct kernel_itimerval value;
    const int which = timers[i].which, signal = timers[i].signal;
    uint64_t mask;
    if (!get_timer(s, tid, which, &value) || thread_get_mask(tid, &mask) < 0)
        return false;
    const bool blocked = mask >> (signal - 1) & 1;
    const bool expired = !blocked && thread_has_timer_signal(tid, signal);
    if (expired)
        value.left_s = value.left_us = 0;
    else if (!value.left_s && !value.left_us)
        return false;
    postpone(&value, delay);
    if (set_timer(s, tid, which, &value) && !blocked && thread_has_timer_signal(tid, signal))
        take_signal(s, tid, signal);
    return true;
}

static uint64_t cpu_ns(pid_t pid) {
    struct timespec time = {0};
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * S_NS + (uint64_t)time.tv_nsec;
}

struct itimers_stand itimers_stand_since_now(pid_t pid) {
    return (struct itimers_stand){pid, clock_monotonic_ns(), cpu_ns(pid)};
}

void itimers_begin(struct space *s, unsigned number) {
    s->itimers.stops = STOPS;
    s->itimers.exact = number > GENEROUS;
}

size_t itimers_add_look(const struct space *s, pid_t tid, struct itimers_look *look,
                        struct remote_step steps[ITIMERS]) {
    if (!permits(s, tid, PERMIT_TIMERS))
        return 0;
    *look = (struct itimers_look){0};
    for (size_t i = 0; i < ITIMERS; i++)
        steps[i] = (struct remote_step){.call = {SYS_getitimer, {(uint64_t)timers[i].which}},
                                        .data = {1, sizeof look->values[i], look->values[i]}};
    return ITIMERS;
}

void itimers_note_look(struct space *s, const struct itimers_look *look,
                       const struct remote_step *steps, size_t count) {
    static const struct itimers_look none;
    bool known = count == ITIMERS;
    for (size_t i = 0; i < count; i++)
        known &= steps[i].result == 0;
    s->itimers.none = known && memcmp(look, &none, sizeof none) == 0;
}

/* A timer may have ended since the process stopped, but before spoor looked. */
static bool any_expired(pid_t tid) {
    bool any = false;
    for (int i = 0; i < ITIMERS && !any; i++)
        any = thread_has_timer_signal(tid, timers[i].signal);
    return any;
}

void itimers_postpone(struct space *s, pid_t caller, const struct itimers_stand *stand) {
    if (s->itimers.none && !any_expired(caller))
        s->itimers.stops = 0;
    if (!s->itimers.stops || !s->slabs.count || !permits(s, caller, PERMIT_TIMERS))
        return;
    const struct itimers_stand now = itimers_stand_since_now(stand->pid);
    const uint64_t real = now.real_ns - stand->real_ns, cpu = now.cpu_ns - stand->cpu_ns;
    const uint64_t bounded = real < SHORT_NS ? SHORT_NS : real > LONG_NS ? LONG_NS : real;
    const uint64_t least = s->itimers.exact ? US_NS : bounded; /* 0 would stop it */
    bool any = false;
    for (int i = 0; i < ITIMERS; i++)
        any |= postpone_timer(s, caller, i,
                              (struct delay){timers[i].which == ITIMER_REAL ? real : cpu, least});
    s->itimers.stops = any ? s->itimers.stops - 1 : 0;
}

/* Sleeps and polls between looks, and the drainer's priority. */
#include "ring/pace.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/workers.h"
#include "ring/rings.h"

enum {
    TARGET_PERCENT = 40,
    IDLE_LOOKS = 200, /* then looks are as rare as the caller allows */
    SLEEP_LEAST_NS = 5 * 1000,
    LATE_MOST_NS = 200 * 1000,
    TIMER_SLACK_NS = 1000,
    TURN_NS = 20 * 1000, /* when sched_yield() takes so long, another thread had a turn */
    NO_POLL_NS = 20 * 1000 * 1000,
    HELD_UP_NS = 1000 * 1000,       /* a sleep that ends so late: others have all processors */
    URGENT_NS = 1000 * 1000 * 1000, /* how long that counts */
    URGENT_MOST_NS = 4 * 1000 * 1000,
    SLICE_NS = 100 * 1000, /* the shortest that the kernel has */
    HIGHEST_PRIORITY = -20
};

/* The first version of struct sched_attr. The C library's and linux/sched/types.h have the same
 * name, and cannot both be included. */
struct policy {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Of the calling thread only. Threads that it creates do not inherit it. */
static bool set_policy(struct policy policy) {
    enum { RESET_ON_FORK = 1 };
    policy.size = sizeof policy;
    policy.flags = RESET_ON_FORK;
    return syscall(SYS_sched_setattr, 0, &policy, 0) == 0;
}

/* The usual policy. With a short slice, since Linux 6.12, a thread that wakes up goes before those
 * with a longer one. A thread that was a realtime thread has lost its timer slack: newer kernels
 * give it the one of the process, 50 us, which is the time in which a ring of 64 KB fills up. */
static void calm_down(struct pace *p) {
    const int nice = getpriority(PRIO_PROCESS, 0);
    const struct policy highest = {
        .policy = SCHED_OTHER, .nice = HIGHEST_PRIORITY, .runtime = SLICE_NS};
    struct policy same = highest;
    same.nice = nice;
    if (!set_policy(highest)) /* there is no right to it */
        set_policy(same);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    p->urgent = false;
}

static void be_urgent(struct pace *p) {
    if (p->urgent || !p->may_be_urgent)
        return;
    p->urgent = set_policy((struct policy){.policy = SCHED_RR, .priority = 1});
    p->may_be_urgent = p->urgent;
}

void pace_begin(struct pace *p, bool awaited) {
    *p = (struct pace){.look_ns = clock_monotonic_ns(),
                       .processors = workers_processors(),
                       .may_be_urgent = awaited};
    be_urgent(p);
    calm_down(p);
}

void pace_read(struct pace *p) {
    if (p->urgent && clock_monotonic_ns() - p->woken_ns > URGENT_MOST_NS)
        calm_down(p);
}

bool pace_is_idle(const struct pace *p) { return p->idle >= IDLE_LOOKS; }

void pace_look(struct pace *p) {
    uint64_t now = clock_monotonic_ns();
    p->period_ns = now - p->look_ns;
    p->look_ns = now;
    p->busy = 0;
}

static void sleep_until(struct pace *p, uint64_t now, uint64_t due) {
    uint64_t wanted = due - now - p->late_ns;
    if (p->busy >= p->processors || now < p->held_up_until_ns)
        be_urgent(p);
    else if (p->urgent)
        calm_down(p);
    clock_sleep_ns(wanted);
    p->woken_ns = clock_monotonic_ns();
    uint64_t slept = p->woken_ns - now, late = slept > wanted ? slept - wanted : 0;
    if (late > HELD_UP_NS)
        p->held_up_until_ns = p->woken_ns + URGENT_NS;
    if (late > LATE_MOST_NS)
        late = LATE_MOST_NS;
    p->late_ns = (p->late_ns * 7 + late) / 8;
}

/* Waits until RING is at the target: an event is written there. It reads no word that the thread
 * writes with each event, such as its head: that would hold the thread up each time. */
static void poll_ring(struct pace *p, const struct lane_handle *ring, uint64_t now, uint64_t due) {
    const uint64_t target = ring->tail + (uint64_t)ring->ring_bytes * TARGET_PERCENT / 100;
    const struct event *at = ring_of(ring) + (target & (ring->ring_bytes - 1)) / EVENT_BYTES;
    const uint64_t before_target = __atomic_load_n(&at->clock_sp, __ATOMIC_RELAXED);
    if (__atomic_load_n(&ring->lane->head, __ATOMIC_RELAXED) >= target)
        return;
    if (p->urgent) /* others must have their turn */
        calm_down(p);
    while (now < due && __atomic_load_n(&at->clock_sp, __ATOMIC_RELAXED) == before_target) {
        uint64_t before = now;
        sched_yield();
        now = clock_monotonic_ns();
        if (now - before > TURN_NS) {
            p->no_poll_until_ns = now + NO_POLL_NS;
            return;
        }
    }
}

/* How long it takes from one look to the next. While there are events, it is as if a ring began to
 * fill as fast as it can. */
static uint64_t next_period(const struct pace *p, unsigned percent, uint64_t longest_ns) {
    uint64_t ns = pace_is_idle(p) ? longest_ns : longest_ns * TARGET_PERCENT / 100;
    uint64_t to_target = percent ? p->period_ns * TARGET_PERCENT / percent : ns;
    return to_target < ns ? to_target : ns;
}

void pace_rest(struct pace *p, const struct lane_handle *fullest, unsigned percent,
               uint64_t longest_ns) {
    p->idle = percent ? 0 : p->idle + 1;
    uint64_t due = p->look_ns + next_period(p, percent, longest_ns), now = clock_monotonic_ns();
    if (now >= due)
        return;
    if (due - now > p->late_ns + SLEEP_LEAST_NS)
        sleep_until(p, now, due);
    else if (fullest && now >= p->no_poll_until_ns)
        poll_ring(p, fullest, now, due);
    else
        sleep_until(p, now, now + p->late_ns + 1);
}

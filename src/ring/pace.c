/* Sleeps and polls between looks. */
#include "ring/pace.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"

enum {
    TARGET_PERCENT = 40,
    IDLE_LOOKS = 200, /* then looks are as rare as the caller allows */
    SLEEP_LEAST_NS = 5 * 1000,
    LATE_MOST_NS = 200 * 1000,
    TIMER_SLACK_NS = 1000,
    TURN_NS = 20 * 1000, /* when sched_yield() takes so long, another thread had a turn */
    NO_POLL_NS = 20 * 1000 * 1000,
    HIGHEST_PRIORITY = -20
};

void pace_begin(struct pace *p) {
    *p = (struct pace){.look_ns = clock_monotonic_ns()};
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY); /* of this thread only; fails without the right
                                                       to it */
}

void pace_look(struct pace *p) {
    uint64_t now = clock_monotonic_ns();
    p->period_ns = now - p->look_ns;
    p->look_ns = now;
}

static void sleep_until(struct pace *p, uint64_t now, uint64_t due) {
    uint64_t wanted = due - now - p->late_ns;
    clock_sleep_ns(wanted);
    uint64_t slept = clock_monotonic_ns() - now, late = slept > wanted ? slept - wanted : 0;
    if (late > LATE_MOST_NS)
        late = LATE_MOST_NS;
    p->late_ns = (p->late_ns * 7 + late) / 8;
}

/* Waits until RING is at the target. */
static void poll_ring(struct pace *p, const struct lane_handle *ring, uint64_t now, uint64_t due) {
    uint64_t target = ring->tail + (uint64_t)ring->ring_bytes * TARGET_PERCENT / 100;
    while (now < due && __atomic_load_n(&ring->lane->head, __ATOMIC_RELAXED) < target) {
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
    uint64_t ns = p->idle < IDLE_LOOKS ? longest_ns * TARGET_PERCENT / 100 : longest_ns;
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
        clock_sleep_ns(1);
}

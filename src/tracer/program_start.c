/* See program_start.h. */
#include "tracer/program_start.h"

#include "base/clock.h"

enum {
    SHARE = 8,               /* of the time that a wait comes after, it is found so much later */
    REST_LEAST_NS = 20000,   /* looking takes some microseconds */
    LOOK_MOST_NS = 10000000, /* the drainer's looks do as well then */
};

void program_start_note(struct tracer *t, pid_t pid) {
    t->starting.pid = pid;
    t->starting.since_ns = clock_monotonic_ns();
}

void program_start_end(struct tracer *t, pid_t pid) {
    if (t->starting.pid == pid)
        t->starting.pid = 0;
}

uint64_t program_start_rest_ns(uint64_t since_ns, uint64_t now_ns) {
    const uint64_t passed = now_ns - since_ns;
    if (passed > LOOK_MOST_NS)
        return 0;
    return passed / SHARE < REST_LEAST_NS ? REST_LEAST_NS : passed / SHARE;
}

uint64_t program_start_next_rest_ns(struct tracer *t) {
    if (!t->starting.pid)
        return 0;
    const uint64_t ns = program_start_rest_ns(t->starting.since_ns, clock_monotonic_ns());
    if (!ns)
        t->starting.pid = 0;
    return ns;
}

/*
 * Real-time priority for spoor while it has stopped a whole program: on a busy machine it would
 * wait for a processor, and the stopped program with it.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>

struct rt_priority {
    bool begun;
    int policy;
    struct sched_param param;
};

/* Raises the calling thread's priority. Without the right to that (CAP_SYS_NICE, RLIMIT_RTPRIO)
 * nothing happens. */
void rt_priority_raise(struct rt_priority *ret);
void rt_priority_restore(const struct rt_priority *before);

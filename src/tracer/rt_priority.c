/* Switches the calling thread to SCHED_RR and back. */
#include "tracer/rt_priority.h"

void rt_priority_raise(struct rt_priority *ret) {
    struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
    ret->policy = sched_getscheduler(0);
    ret->begun = ret->policy >= 0 && sched_getparam(0, &ret->param) == 0 &&
                 ret->policy == SCHED_OTHER && sched_setscheduler(0, SCHED_RR, &lowest) == 0;
}

void rt_priority_restore(const struct rt_priority *before) {
    if (before->begun)
        sched_setscheduler(0, before->policy, &before->param);
}

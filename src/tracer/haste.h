/*
 * While all of a program stands still because of us, our work goes before what else is to run: on a
 * busy machine we would wait for a processor, and the program with us.
 */
#ifndef SPOOR_TRACER_HASTE_H
#define SPOOR_TRACER_HASTE_H

#include <sched.h>
#include <stdbool.h>

struct haste {
    bool begun;
    int policy;
    struct sched_param param;
};

/* The calling thread; without the right to that (CAP_SYS_NICE, RLIMIT_RTPRIO) nothing happens. */
void haste_begin(struct haste *ret);
void haste_end(const struct haste *haste);

#endif

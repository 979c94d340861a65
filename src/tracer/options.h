/*
 * What a tracer is made with, and what it reports of itself. Plain data: every file of the room and
 * every caller of tracer.h may include it.
 */
#pragma once

#include "patch/space.h"
#include "ring/drain.h"

struct tracer_options {
    struct space_context context;
    struct drain *drain;
};

/* For how long the threads of the attached process stood, at most: while spoor came, and while it
 * left. Each is done in two stops. */
struct tracer_pauses {
    uint64_t attach_ns, leave_ns;
};

/* Why the adopted process has stopped, as job control does it. */
struct tracer_stop {
    unsigned number; /* stops are counted from 1; 0: it was stopped before spoor came */
    int signal, code;
    pid_t sender;
};

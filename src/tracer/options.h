/*
 * The options of a tracer, and what it reports of itself. Plain data: every file of the room and
 * every caller of tracer.h may include it.
 */
#pragma once

#include "patch/space.h"
#include "ring/drain.h"

struct tracer_options {
    struct space_context context;
    struct drain *drain;
};

/* For how long the threads of the attached process were stopped, at most: at attach and at detach,
 * each of which takes two stops. */
struct tracer_pauses {
    uint64_t attach_ns, leave_ns;
};

/* The adopted process's last group-stop. */
struct tracer_stop {
    unsigned number; /* counted from 1; 0: it was stopped before spoor attached */
    int signal, code;
    pid_t sender;
};

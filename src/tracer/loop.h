/*
 * The event loop: each report that wait() returns, and its answer. Only tracer.c includes this;
 * lower files call the loop by t->loop.
 */
#pragma once

#include "tracer/core.h"

extern const struct loop_handlers loop_handlers;

/* Lets TID, if it is still there, run on with signal SIG. */
void loop_resume(struct tracer *t, pid_t tid, int sig);

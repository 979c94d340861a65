/*
 * The event loop: each report that wait() returns, and its answer. Only tracer.c includes this;
 * lower files call the loop by t->loop.
 */
#ifndef SPOOR_TRACER_LOOP_H
#define SPOOR_TRACER_LOOP_H

#include "tracer/core.h"

extern const struct loop_handlers loop_handlers;

/* Lets TID, if it is still there, run on with signal SIG. */
void loop_resume(struct tracer *t, pid_t tid, int sig);

#endif

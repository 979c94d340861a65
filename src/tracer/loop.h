/*
 * The event loop: handles each report of wait(), and answers it. Only tracer.c includes this; lower
 * files call the loop through t->loop.
 */
#pragma once

#include "tracer/tracer_state.h"

extern const struct loop_handlers loop_handlers;

/* Resumes TID, if it is still there, with signal SIG. */
void loop_resume(struct tracer *t, pid_t tid, int sig);

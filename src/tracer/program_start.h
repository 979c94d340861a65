/*
 * A program that begins soon waits in the dynamic linker's hook, twice with glibc. The drainer
 * would see that only at its next look, milliseconds later: longer than the program needs to begin.
 * So the tracer looks itself, often at first, then ever more rarely.
 */
#pragma once

#include "tracer/tracer_state.h"

/* PID's program begins, or goes on from its first wait. The newest such process is looked at. */
void program_start_note(struct tracer *t, pid_t pid);
/* PID has waited for the last time that is expected. */
void program_start_end(struct tracer *t, pid_t pid);
/* For how long to wait for other things before the next look at the hooks, if that was noted at
 * SINCE_NS. 0: no look is due. */
uint64_t program_start_rest_ns(uint64_t since_ns, uint64_t now_ns);
/* The same for the process that was noted. */
uint64_t program_start_next_rest_ns(struct tracer *t);

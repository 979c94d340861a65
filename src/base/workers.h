/*
 * Work that is divided among all processors. One set of helper threads serves the whole process, so
 * work that is divided again keeps no more processors busy than there are. Helpers end when nothing
 * is left to do. They block all signals.
 */
#pragma once

#include <stddef.h>

/* Calls BODY(ARG, I) for each I < COUNT, and returns when all calls have returned. Calls may run at
 * the same time, on several threads, in any order. BODY may divide its own work in this way. */
void workers_run(size_t count, void (*body)(void *arg, size_t index), void *arg);
/* For tests: at most THREADS threads work at the same time, the caller's included. 0: as many as
 * there are processors that the process may use. */
void workers_limit(size_t threads);
/* The processors that the calling thread may use; 1: not known. */
size_t workers_processors(void);

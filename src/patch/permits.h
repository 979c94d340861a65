/*
 * What a sandbox (seccomp) lets spoor do by remote calls. A thread's filters may kill its process
 * for a call, so spoor makes no call that they might forbid.
 *
 * Programs that spoor starts inherit spoor's own filters. These are taken to allow what is needed;
 * so are as many filters of a process in the same container. All other filters are read and
 * evaluated for each call. Filters that cannot be read forbid.
 */
#pragma once

#include "patch/space.h"

enum permit {                       /* the purpose of remote calls */
              PERMIT_CODE = 1,      /* map and unmap code */
              PERMIT_LANES = 2,     /* share memory */
              PERMIT_LEAVE = 4,     /* unmap all of it */
              PERMIT_LOOK = 8,      /* access_gain() */
              PERMIT_TRAPS = 16,    /* traps.c */
              PERMIT_PAGES = 32,    /* pages.c */
              PERMIT_MASK = 64,     /* crossing.c: the thread's own calls, if spoor is killed */
              PERMIT_POINTER = 128, /* lane_lookup_table.c */
              PERMIT_TIMERS = 256,  /* itimers.c */
              PERMIT_READS = 512,   /* read_faults.c */
              PERMIT_SERIES = 1024, /* thread_calls() */
              PERMIT_IMAGE = 2048   /* code_image.c */
};

/* How many of TID's filters are trusted without a look: as many as spoor has itself, if TID must
 * have inherited them (it descends from spoor, or both are in the same container). */
unsigned permits_trusted(pid_t tid);
/* Whether CALLER, a stopped thread of SPACE, may make all calls of PURPOSES. Errors: "sandboxed";
 * its text ends with CONSEQUENCE. */
int permits_check(const struct space *space, pid_t caller, unsigned purposes,
                  const char *consequence, struct err *err);
/* The same without an error. */
bool permits(const struct space *space, pid_t caller, unsigned purposes);

/*
 * What a sandbox (seccomp) lets spoor do by remote calls. A thread's filters may answer such a call
 * by killing its process: no call is made that they might not allow.
 *
 * Filters that spoor has itself, and what it starts inherits, are taken to allow what is needed; so
 * are as many of a process in the same container, as spoor has them from that.
 * Others are read, and asked for each call; where they cannot be read they forbid.
 */
#pragma once

#include "patch/space.h"

enum permit {                      /* what calls are made for */
              PERMIT_CODE = 1,     /* to map and unmap code */
              PERMIT_LANES = 2,    /* to share memory */
              PERMIT_LEAVE = 4,    /* to unmap it all */
              PERMIT_LOOK = 8,     /* access_gain() */
              PERMIT_TRAPS = 16,   /* traps.c */
              PERMIT_PAGES = 32,   /* pages.c */
              PERMIT_MASK = 64,    /* crossing.c: the thread's own calls, should spoor be killed */
              PERMIT_POINTER = 128 /* lane_lookup_table.c */
};

/* How many filters of TID's need no look: as many as spoor has itself, if TID must have inherited
 * them: it descends from spoor, or both are in the same container. */
unsigned permits_trusted(pid_t tid);
/* Whether CALLER, a stopped thread of SPACE, may make the calls that all of PURPOSES take. Errors:
 * "sandboxed", with a text that ends with what follows from that, SO. */
int permits_check(const struct space *space, pid_t caller, unsigned purposes, const char *so,
                  struct err *err);
/* The same without an error. */
bool permits(const struct space *space, pid_t caller, unsigned purposes);

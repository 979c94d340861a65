/*
 * How spoor learns that a program is about to rewrite its code. Text becomes writable by mprotect()
 * or pkey_mprotect(). Their entries, in libc or in a static program's own copy, have a stub. It
 * makes the thread wait for the tool if the memory overlaps patched text (struct guarded in
 * wire/ring.h). Other calls go on at once.
 */
#pragma once

#include "patch/space.h"
#include "plan/plan.h"

struct guard_call { /* a call that changes protection, and has not been made yet */
    struct span pages;
    bool writes; /* the pages will be writable */
};

/* Whether a process that begins with PROGRAM, for which TID stands, may change the protection of
 * text by libc. It may not if no code of PROGRAM, and of all libraries that it is loaded with, asks
 * for it or loads more code. */
bool guard_is_useful(const struct module *program, pid_t tid);
/* Whether the file of PATH may be a C library. */
bool guard_may_be_in(const char *path);
/* Link-time addresses of the functions to be guarded in M, which is planned. False: there are
 * none. */
bool guard_sites(const struct traced_module *m, vaddr_t ret[PLAN_GUARDS]);
/* Tells the guards of SPACE what text is patched now. */
void guard_set_ranges(const struct space *space);
/* Whether TID waits at a guard, and for what call. */
bool guard_waits(const struct space *space, pid_t tid, struct guard_call *ret);
/* TID, which was at a guard, has been moved back to the entry of the guarded function: moves it on,
 * so that the call is made. */
void guard_pass(const struct space *space, pid_t tid);

/*
 * How a stub finds the lane of its thread, behind one interface. lane_lookup_register.c: a register
 * that programs leave alone holds the lane's address (x86-64). lane_lookup_table.c: each trampoline
 * area begins with a table from thread pointers to lanes (Arm; wire/lane_lookup.h). All threads
 * that a call names are stopped.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/types.h"

struct space;

struct lane_lookup {
    struct owned_key *table; /* copy of the target's table; NULL: no key yet */
    struct sharing *sharing; /* threads without keys (lane_lookup_shared.h), or NULL */
    bool *kept_pointers;     /* by assigned pointer: threads may have had it before attach */
    bool copied;       /* its tables still hold the stack ranges of the forked process's threads */
    bool full;         /* the table has no room for some threads */
    bool ambiguous;    /* two threads may have the same assigned pointer: each asks for its own */
    bool loses_events; /* some threads write to the sink: no room, or not told apart */
};

/* TID, a thread of SPACE, writes to LANE from now on; 0: to none. SPACE is NULL if it is not
 * known. */
void lane_lookup_give(struct space *space, pid_t tid, taddr_t lane);
/* The same for a new thread that MAKER has created and that runs beside MAKER. MAKER is 0 for a
 * thread that ran before spoor attached. */
void lane_lookup_give_new(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* The same for TID while it borrows the memory of MAKER, its vfork parent. MAKER is 0 when that is
 * over. */
void lane_lookup_pass(struct space *space, pid_t tid, taddr_t lane, pid_t maker);
/* TID is about to be detached and does not run before: takes back its assigned thread pointer, if
 * the thread must make a system call for that. */
void lane_lookup_unassign(struct space *space, pid_t tid);
/* After lane_lookup_unassign(): if TID still reaches a stub, it writes to LANE. LANE 0: nothing of
 * spoor stays in the thread. SPACE may be NULL. */
void lane_lookup_leave(struct space *space, pid_t tid, taddr_t lane);
/* TID ran before spoor attached and will get a lane. Called for all such threads before any of them
 * gets its lane. */
void lane_lookup_expect(struct space *space, pid_t tid);
/* All threads of SPACE are stopped and have their lanes. From now on threads that share a thread
 * pointer are told apart by their stacks. */
void lane_lookup_tell_apart(struct space *space);
/* The lane that TID writes to; 0: none, or unknown. */
taddr_t lane_lookup_lane(const struct space *space, pid_t tid);
/* TID has ended, or leaves SPACE, which may be NULL. */
void lane_lookup_forget(struct space *space, pid_t tid);
/* A number that a forked process has in common with the process of TID until it runs. */
uint64_t lane_lookup_mark(pid_t tid);
/* The same for TID, which has just got LANE. */
uint64_t lane_lookup_mark_with(pid_t tid, taddr_t lane);
/* Whether COPY, whose lane_lookup_mark() equals that of a task of SPACE with lane LANE, may be a
 * copy of that task's process: its memory does not contradict. SPACE NULL and LANE 0: unknown. */
bool lane_lookup_may_belong(const struct space *space, taddr_t lane, pid_t copy);
/* Whether TID, a thread of SPACE, has something of its own where its lane was. */
bool lane_lookup_is_taken(const struct space *space, pid_t tid);
/* Writes the tables for all threads of SPACE into its new area at AREA. */
int lane_lookup_install(const struct space *space, taddr_t area, struct err *err);
/* For a forked process; and for a space that ends. */
void lane_lookup_copy(struct lane_lookup *to, const struct lane_lookup *from);
void lane_lookup_done(struct lane_lookup *lookup);
/* Whether a thread of SPACE waits because its thread pointer has changed and its stub finds no
 * lane. Clears the request; lane_lookup_give() serves it. */
bool lane_lookup_is_requested(const struct space *space);

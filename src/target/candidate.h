/*
 * Which processes can be attached to, as far as that can be told before anything is touched: all
 * of it is read from /proc.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/*
 * Whether PID is a process that spoor can attach to. Errors: those of the two below; "own-process"
 * (spoor itself); "seize" (somebody traces it already, or we have not the right to: refusal.h). The
 * kernel may still refuse what this accepts.
 */
int candidate_check(pid_t pid, struct err *err);
/* Whether PID is a living process of a program. Errors: "no-process", "thread-id", "kernel-thread",
 * "ended". */
int candidate_check_process(pid_t pid, struct err *err);
/* A thread of PID's that lives: its first one, unless that has ended before the others, when /proc
 * shows no memory under PID. 0: none. */
pid_t candidate_thread(pid_t pid);
/* Whether TID runs a program of this spoor's machine and class, which we may read: others have
 * other registers and other code. Errors: "foreign-program", "unreadable". */
int candidate_check_program(pid_t tid, struct err *err);

/* The other processes that have PID's very memory (CLONE_VM without CLONE_THREAD). */
struct sharing {
    pid_t pid;
    ARRAY(pid_t) sharers;
    ARRAY(pid_t) seen; /* at the last look; ascending */
};

/* Adds those that were not there at the last look. None where the kernel does not let us compare.
 * All that others have takes a while to look at: so the first look is for a time when nobody waits.
 */
void sharing_look(struct sharing *sharing);
/* Whether TID, a thread of one of the sharers, has other memory by now: it has begun another
 * program since it was looked at. */
bool sharing_is_over(const struct sharing *sharing, pid_t tid);
void sharing_done(struct sharing *sharing);

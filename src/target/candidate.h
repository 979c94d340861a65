/* Decides whether spoor can attach to a process, as far as /proc tells before anything is touched.
 * Also finds the processes that share its memory. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* 0 if spoor can attach to PID; the kernel may still refuse. Errors: those of the two checks below;
 * "own-process" (spoor itself); "seize" (it has a tracer, or spoor lacks the right: refusal.h). */
int candidate_check(pid_t pid, struct err *err);
/* 0 if PID is a living process that runs a program. Errors: "no-process", "thread-id",
 * "kernel-thread", "ended". */
int candidate_check_process(pid_t pid, struct err *err);
/* A living thread of PID: the first one, unless it ended before the others (then /proc shows no
 * memory under PID). 0: none. */
pid_t candidate_thread(pid_t pid);
/* 0 if TID runs a readable program of spoor's own machine and ELF class: others have other
 * registers and code. Errors: "foreign-program", "unreadable". */
int candidate_check_program(pid_t tid, struct err *err);

/* The other processes that share PID's memory (CLONE_VM without CLONE_THREAD). */
struct sharing {
    pid_t pid;
    ARRAY(pid_t) sharers;
    ARRAY(pid_t) seen; /* all processes at the last look; ascending */
};

/* Looks at the processes that are new since the last look, and adds the sharers. Finds none where
 * the kernel forbids kcmp(2). The first look takes long: make it while no thread is stopped. */
void sharing_update(struct sharing *sharing);
/* True if TID, a thread of a sharer, has other memory by now: it called exec. */
bool sharing_is_over(const struct sharing *sharing, pid_t tid);
void sharing_done(struct sharing *sharing);

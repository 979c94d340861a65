/*
 * Interval timers (setitimer, alarm) outlive exec, but handlers of their signals do not. A signal
 * that comes before the new image has its handler kills it. Spoor's work on a new image must not
 * make that likelier: the timers are postponed by it, and a signal that came meanwhile waits.
 *
 * Spoor works at the exec event, and in the first stops of the dynamic linker's hook. In between
 * the program runs slower than alone: its thread waits in the hook, and records. So after each of
 * these stops a timer has as much left as the stop took, at least 1 s and at most 2 s. Only the
 * first hundred images of a process get this: a program that goes on executing itself dies of its
 * timer. A timer is never stopped: if spoor is killed, its signal comes.
 */
#pragma once

#include "patch/space.h"

struct itimers_stand { /* since when a process stands because of spoor */
    pid_t pid;
    uint64_t real_ns, cpu_ns; /* the monotonic clock, and the process's processor time */
};
struct itimers_stand itimers_stand_since_now(pid_t pid);

/* SPACE has just been made, by its process's exec of this NUMBER: its first stops postpone its
 * timers. */
void itimers_begin(struct space *space, unsigned number);
/* Adds calls to STEPS that look whether TID's process has timers. Returns how many; 0: a sandbox
 * may forbid them. LOOK lives until itimers_note_look(), after these calls. If no timer runs,
 * itimers_postpone() makes no call. */
enum { ITIMERS = 3 };
struct itimers_look {
    long values[ITIMERS][4]; /* struct kernel_itimerval */
};
size_t itimers_add_look(const struct space *space, pid_t tid, struct itimers_look *look,
                        struct remote_step steps[ITIMERS]);
void itimers_note_look(struct space *space, const struct itimers_look *look,
                       const struct remote_step *steps, size_t count);
/* CALLER, a stopped thread of SPACE, has stood since STAND, and is about to run on. Does nothing if
 * a sandbox might forbid the calls. */
void itimers_postpone(struct space *space, pid_t caller, const struct itimers_stand *stand);

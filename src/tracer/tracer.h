/*
 * The ptrace side of a session: knows every thread of every traced process and
 * answers what ptrace reports. Belongs to one thread.
 */
#pragma once

#include "tracer/options.h"

struct tracer;

struct tracer *tracer_new(const struct tracer_options *options);
void tracer_free(struct tracer *t);

/* PID stands at its exec event (launch()): sets it up, and leaves it there; or lets it go, when it
 * may not be traced: its end is reported all the same. */
int tracer_adopt(struct tracer *t, pid_t pid, struct err *err);
/* PID runs: prepares what it will be given when it is seized; it is not touched. Errors: of
 * space_new_prepared(). */
int tracer_prepare(const struct tracer *t, pid_t pid, struct space **ret, struct err *err);
/* PID runs; SPACE was foreseen for it: seizes it, instruments it, lets it run on. Errors: "seize",
 * "busy" (it cannot be stopped), those of space_install(); the process is as it was then. */
int tracer_attach(struct tracer *t, struct space *space, pid_t pid, struct err *err);
void tracer_start(struct tracer *t, pid_t pid);
/* Handles the reports of tracees, without waiting. Returns whether there may be more. */
bool tracer_handle_reports(struct tracer *t);
/* Some thread waits in the dynamic linker's hook: looks at the modules and lets it go on. */
void tracer_handle_hooks(struct tracer *t);
/* PID may hold what a spoor that was killed has left in it (*RET_FOUND): removes that. Errors: of
 * seizing and of space_undo(). */
int tracer_remove_leftovers(struct tracer *t, pid_t pid, bool *ret_found, struct err *err);
/* Restores every process that is still traced and lets it run on untraced. */
void tracer_release_all(struct tracer *t);

/*
 * Changes while programs run. The text of all processes is restored (tracer_pause()), until
 * tracer_unpause(); or patched for other functions (tracer_change_filter()): FILTER must outlive
 * the tracer. Each sees to all processes before it returns, if they let themselves be stopped; if
 * not, it fails with "busy", and those follow as soon as they can. Errors of tracer_change_filter()
 * besides, when nothing has changed: "no-match" (with near names), "libcalls" (the calls of
 * libraries cannot be chosen anew). RET_NS: for how long a process stood, at most.
 */
int tracer_pause(struct tracer *t, uint64_t *ret_ns, struct err *err);
int tracer_unpause(struct tracer *t, uint64_t *ret_ns, struct err *err);
int tracer_change_filter(struct tracer *t, const struct filter *filter, uint64_t *ret_ns,
                         struct err *err);
bool tracer_paused(const struct tracer *t);
/* How many processes are traced. */
size_t tracer_process_count(const struct tracer *t);
/* Sees to what could not be changed before. */
void tracer_catch_up(struct tracer *t);

struct tracer_pauses tracer_pauses(const struct tracer *t);
/* Whether something of spoor has stayed in a process that was left. The user knows. */
bool tracer_left_something(const struct tracer *t);

size_t tracer_task_count(const struct tracer *t);
/* Whether there is something to wait for: tasks, or the adopted process's end. */
bool tracer_waits(const struct tracer *t);
/* Whether process PID is traced, and lives. */
bool tracer_traces(const struct tracer *t, pid_t pid);
/* True once PID, the adopted process, has ended; its wait status then. */
bool tracer_ended(const struct tracer *t, pid_t pid, int *ret_status);

/* False: the adopted process is not in a group-stop. */
bool tracer_stopped(const struct tracer *t, struct tracer_stop *ret);

/*
 * The ptrace side of a recording: knows every thread of every traced process, and answers its
 * stops. Belongs to one thread.
 */
#pragma once

#include "tracer/death.h"
#include "tracer/options.h"

struct tracer;

struct tracer *tracer_new(const struct tracer_options *options);
void tracer_free(struct tracer *t);

/* PID is at its exec event (launch()): sets it up, and leaves it stopped. If it may not be traced,
 * detaches it; its end is reported nevertheless. */
int tracer_adopt(struct tracer *t, pid_t pid, struct err *err);
/* PID runs: prepares a space for tracer_attach(), without touching the process. Errors: of
 * space_new_prepared(). */
int tracer_prepare(const struct tracer *t, pid_t pid, struct space **ret, struct err *err);
/* PID runs; SPACE is from tracer_prepare(): seizes the process, patches it, and resumes it.
 * Errors: "seize", "busy" (it cannot be stopped), those of space_install(); then the process is
 * as before. */
int tracer_attach(struct tracer *t, struct space *space, pid_t pid, struct err *err);
void tracer_start(struct tracer *t, pid_t pid);
/* Handles the reports of tracees, without waiting. Returns whether there may be more. */
bool tracer_handle_reports(struct tracer *t);
/* A thread may wait in the dynamic linker's hook: if so, looks at the modules, and resumes it. */
void tracer_handle_hooks(struct tracer *t);
/* For how long to wait for other things before tracer_handle_hooks(), though no drainer has seen a
 * wait. 0: not needed. */
uint64_t tracer_rest_ns(struct tracer *t);
/* Removes what a killed spoor has left in PID. *RET_FOUND: there was something. Errors: of seizing
 * and of space_undo(). */
int tracer_remove_leftovers(struct tracer *t, pid_t pid, bool *ret_found, struct err *err);
/* Restores every traced process, and detaches it. */
void tracer_release_all(struct tracer *t);

/*
 * Changes while programs run. tracer_pause() restores the text of all processes, until
 * tracer_unpause(). tracer_change_filter() patches them for other functions; FILTER must outlive
 * the tracer. Each changes all processes that can be stopped before it returns; if some cannot, it
 * fails with "busy", and those follow later. Other errors of tracer_change_filter(), with nothing
 * changed: "no-match" (with near names), "libcalls" (calls of libraries cannot be chosen anew).
 * RET_NS: for how long a process was stopped, at most.
 */
int tracer_pause(struct tracer *t, uint64_t *ret_ns, struct err *err);
int tracer_unpause(struct tracer *t, uint64_t *ret_ns, struct err *err);
int tracer_change_filter(struct tracer *t, const struct filter *filter, uint64_t *ret_ns,
                         struct err *err);
bool tracer_paused(const struct tracer *t);
/* How many processes are traced. */
size_t tracer_process_count(const struct tracer *t);
/* Changes what could not be changed before. */
void tracer_catch_up(struct tracer *t);

struct tracer_pauses tracer_pauses(const struct tracer *t);
/* Whether something of spoor stays in a process that was detached. The user was told. */
bool tracer_has_leftovers(const struct tracer *t);

size_t tracer_task_count(const struct tracer *t);
/* Whether there is something to wait for: tasks, or the adopted process's end. */
bool tracer_waits(const struct tracer *t);
/* Whether process PID is traced and alive. */
bool tracer_traces(const struct tracer *t, pid_t pid);
/* True once PID, the adopted process, has ended; its wait status then. */
bool tracer_ended(const struct tracer *t, pid_t pid, int *ret_status);

/* The processes that signals have ended, in the order of their ends. */
const death_array *tracer_deaths(const struct tracer *t);
/* The number of further ones, beyond the most that are kept. */
uint64_t tracer_deaths_left_out(const struct tracer *t);

/* False: the adopted process is not in a group-stop. */
bool tracer_stopped(const struct tracer *t, struct tracer_stop *ret);

/* spoor attach: traces a running process for a while, and leaves it as it was. */
#include <stdlib.h>

#include "cmd/command.h"
#include "cmd/figures.h"
#include "cmd/recorder.h"
#include "cmd/say.h"
#include "cmd/values.h"

/* Returns 0, after a message, if there is no valid process id. */
static pid_t pid_of(const struct options *options, int argc, char **argv) {
    uint32_t operand = 0;
    if (argc && (!value_number(argv[0], &operand) || !operand || operand > INT32_MAX)) {
        say_error("%s: is not a process id: 'ps' and 'pgrep' show them", argv[0]);
        return 0;
    }
    if (argc && options->pid && options->pid != operand) {
        say_error("attach: only one process at a time: give --pid or PID");
        return 0;
    }
    if (!argc && !options->pid)
        say_error("attach: no process: give its PID");
    return (pid_t)(argc ? operand : options->pid);
}

static void show_pauses(pid_t pid, const struct record_result *r) {
    char attach[FIGURE_ROOM], leave[FIGURE_ROOM];
    figure_time(attach, r->attach_ns);
    figure_time(leave, r->leave_ns);
    if (r->leave_ns)
        say_note("process %d: stopped for %s at attach, for %s at leave", pid, attach, leave);
    else
        say_note("process %d: stopped for %s at attach; it has ended", pid, attach);
}

/* Prints why a trace may have no events. Launchers (java) and programs that wait make few calls of
 * their own; a stopped program makes none. */
static void explain_empty_trace(pid_t pid, const struct record_options *o,
                                const struct record_result *r) {
    const struct trace_totals *t = &r->totals;
    if (t->entries || t->exits || t->lost)
        return;
    if (r->was_stopped)
        say_note("process %d: was stopped all the time: 'kill -CONT %d' lets it run", pid, pid);
    else if (!o->filter.modules.count && !o->filter.functions.count && !o->libcalls)
        say_note("no function of the executable itself was called or returned: -M '*' traces its "
                 "libraries, too");
}

int cmd_attach(struct options *options, int argc, char **argv) {
    struct recorder recorder = {.shown = false};
    struct record_options *record = recorder_options(&recorder, options);
    struct record_result result;
    struct err err = {0};
    pid_t pid = pid_of(options, argc, argv);
    if (!pid)
        return STATUS_USAGE;
    int rc = record_attach(record, pid, &result, &err);
    recorder_clear_progress(&recorder);
    if (rc < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    recorder_summary(record, &result);
    show_pauses(pid, &result);
    explain_empty_trace(pid, record, &result);
    record_result_done(&result);
    return result.trace_error < 0 || result.has_leftovers ? STATUS_FAILED : STATUS_OK;
}

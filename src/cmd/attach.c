/* spoor attach: traces a running process for a while, and leaves it as it was. */
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/figures.h"
#include "cmd/recorder.h"
#include "cmd/say.h"
#include "cmd/values.h"

typedef ARRAY(pid_t) pid_array;

/* Adds the ids in TEXT, with commas between them. Returns false, after a message, for others. */
static bool add_pids(const char *text, pid_array *ret) {
    for (const char *at = text; at;) {
        const char *comma = strchr(at, ',');
        AUTO_FREE char *word =
            mem_printf("%.*s", (int)(comma ? comma - at : (ptrdiff_t)strlen(at)), at);
        uint32_t pid;
        if (!value_number(word, &pid) || pid > INT32_MAX) {
            say_error("%s: is not a process id: 'ps' and 'pgrep' show them", word);
            return false;
        }
        ARRAY_PUSH(ret, (pid_t)pid);
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

/* Returns false, after a message, if there are no valid process ids. */
static bool pids_of(const struct options *options, int argc, char **argv, pid_array *ret) {
    for (size_t i = 0; i < options->pids.count; i++)
        if (!add_pids(options->pids.at[i], ret))
            return false;
    for (int i = 0; i < argc; i++)
        if (!add_pids(argv[i], ret))
            return false;
    if (!ret->count)
        say_error("attach: no process: give its PID");
    return ret->count;
}

static void show_pauses(pid_t pid, const struct record_result *r) {
    char attach[FIGURE_ROOM], leave[FIGURE_ROOM];
    figure_time(attach, r->attach_ns);
    figure_time(leave, r->leave_ns);
    if (r->attached > 1) {
        say_note("%zu processes: stopped for at most %s at attach, %s at leave", r->attached,
                 attach, leave);
        return;
    }
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
    if (t->entries || t->exits || t->lost || !r->functions_instrumented)
        return;
    if (r->was_stopped)
        say_note("process %d: was stopped all the time: 'kill -CONT %d' lets it run", pid, pid);
    else if (!o->filter.modules.count && !o->filter.functions.count && !o->libcalls)
        say_note("no function of the executable itself was called or returned: -M '*' traces its "
                 "libraries, too");
}

static int attach(struct options *options, const struct attach_targets *targets) {
    struct recorder recorder = {.shown = false};
    struct record_options *record = recorder_options(&recorder, options);
    struct record_result result;
    struct err err = {0};
    if (!recorder_formats(record))
        return STATUS_FAILED;
    int rc = record_attach(record, targets, &result, &err);
    recorder_clear_progress(&recorder);
    if (rc < 0) {
        say_err(&err);
        record_result_done(&result);
        return STATUS_FAILED;
    }
    recorder_summary(record, &result);
    show_pauses(targets->pids[0], &result);
    explain_empty_trace(targets->pids[0], record, &result);
    record_result_done(&result);
    return result.trace_error < 0 || result.has_leftovers ? STATUS_FAILED : STATUS_OK;
}

int cmd_attach(struct options *options, int argc, char **argv) {
    pid_array pids = {0};
    int status = STATUS_USAGE;
    if (pids_of(options, argc, argv, &pids))
        status = attach(options, &(struct attach_targets){pids.at, pids.count, options->tree});
    ARRAY_FREE(&pids);
    return status;
}

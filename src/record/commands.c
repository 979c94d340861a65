/* One function for each command of 'spoor ctl'. Each runs it and words the answer. */
#include "record/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Appends to the text of the answer. */
static void say(struct control_answer *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct control_answer *ret, const char *fmt, ...) {
    size_t used = strlen(ret->text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(ret->text + used, sizeof ret->text - used, fmt, args);
    va_end(args);
}

static void say_processes(const struct recording *r, struct control_answer *ret) {
    size_t count = tracer_process_count(r->tracer);
    say(ret, count == 1 ? "%zu process" : "%zu processes", count);
}

static void say_pause(const struct recording *r, uint64_t ns, struct control_answer *ret) {
    say_processes(r, ret);
    say(ret, ", stopped for %.1f ms", (double)ns / 1e6);
}

static int run_pause(struct recording *r, struct control_answer *ret, struct err *err) {
    uint64_t ns;
    int rc = tracer_pause(r->tracer, &ns, err);
    say(ret, "paused: ");
    say_pause(r, ns, ret);
    return rc;
}

static int run_resume(struct recording *r, struct control_answer *ret, struct err *err) {
    uint64_t ns;
    int rc = tracer_unpause(r->tracer, &ns, err);
    say(ret, "recording: ");
    say_pause(r, ns, ret);
    return rc;
}

static int run_filter(struct recording *r, const struct request *request,
                      struct control_answer *ret, struct err *err) {
    bool restore = filter_is_empty(&request->filter);
    uint64_t ns;
    int rc =
        tracer_change_filter(r->tracer, restore ? &r->options->filter : &request->filter, &ns, err);
    if (rc < 0)
        return rc;
    say(ret, "filter: %zu functions, ", module_table_selected(r->module_table));
    say_pause(r, ns, ret);
    if (tracer_paused(r->tracer))
        say(ret, ", still paused");
    return 0;
}

static int run_snapshot(const struct recording *r, struct control_answer *ret, struct err *err) {
    int rc = flight_check(r->flight, err);
    if (rc < 0) {
        err_prefix(err, "no snapshot");
        return rc;
    }
    flight_snapshot(r->flight, "spoor ctl");
    say(ret, "snapshot: is being written beside %s", r->options->output);
    return 0;
}

static void run_status(const struct recording *r, struct control_answer *ret) {
    struct trace_totals totals = trace_writer_totals(r->writer);
    say(ret, "%s: %zu functions, ", tracer_paused(r->tracer) ? "paused" : "recording",
        module_table_selected(r->module_table));
    say_processes(r, ret);
    say(ret, ", %ju events, %ju lost, %.1f MB", totals.entries + totals.exits, totals.lost,
        (double)totals.bytes / 1e6);
}

void command_run(void *ctx, const struct request *request, struct control_answer *ret) {
    struct recording *r = ctx;
    struct err err = {0};
    int rc = 0;
    *ret = (struct control_answer){.failed = false};
    switch (request->command) {
    case REQUEST_PAUSE:
        rc = run_pause(r, ret, &err);
        break;
    case REQUEST_RESUME:
        rc = run_resume(r, ret, &err);
        break;
    case REQUEST_FILTER:
        rc = run_filter(r, request, ret, &err);
        break;
    case REQUEST_SNAPSHOT:
        rc = run_snapshot(r, ret, &err);
        break;
    case REQUEST_STATUS:
        run_status(r, ret);
        break;
    case REQUEST_STOP:
        r->stop = ret->later = true;
        break;
    default:
        rc = -EPROTO;
    }
    ret->failed = rc < 0;
    if (rc < 0)
        snprintf(ret->text, sizeof ret->text, "%s", err.text);
}

void recording_listen(struct recording *r) {
    struct err err = {0};
    if (control_open(r->pid, command_run, r, &r->control, &err) < 0) {
        report_warn(&r->options->report, err.text);
        return;
    }
    if (!r->options->start_paused)
        return;
    AUTO_FREE char *text =
        mem_printf("process %d: nothing is recorded before 'spoor ctl %d resume'", r->pid, r->pid);
    report_warn(&r->options->report, text);
}

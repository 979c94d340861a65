/* spoor record: launches a program, traces it to its end, passes its status on. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/say.h"
#include "session/session.h"

enum { PROGRESS_ROOM = 80 };

static const char DEFAULT_OUTPUT[] = "spoor.trace";

struct progress {
    bool shown; /* something stands on the terminal's present line */
};

/* The program's output comes first: progress shows only where it cannot get in its way. */
static bool progress_is_wanted(const struct options *options) {
    return !options->record.quiet && isatty(2) && !isatty(1);
}

static void clear_progress(struct progress *p) {
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static double millions(uint64_t n) { return (double)n / 1e6; }

static void show_progress(void *ctx, const struct trace_totals *totals) {
    struct progress *p = ctx;
    p->shown = true;
    fprintf(stderr, "\rspoor: recording: %.1f M events, %.1f MB",
            millions(totals->entries + totals->exits), millions(totals->bytes));
    if (totals->lost)
        fprintf(stderr, ", %lu lost", totals->lost);
    fputs("\033[K", stderr);
    fflush(stderr);
}

static void show_warning(void *ctx, const char *text) {
    clear_progress(ctx);
    say_note("%s", text);
}

static void show_summary(const struct session_result *r, const char *output) {
    uint64_t events = r->totals.entries + r->totals.exits;
    say_note("%s: %lu of %lu functions instrumented, %lu events, %lu lost, %.1f MB, %.3f s", output,
             r->functions_instrumented, r->functions_seen, events, r->totals.lost,
             millions(r->totals.bytes), (double)r->duration_ns / 1e9);
}

static int failure_status(const struct err *err) {
    if (strcmp(err->tag, "not-found") == 0)
        return STATUS_NOT_FOUND;
    if (strcmp(err->tag, "not-executable") == 0)
        return STATUS_NOT_EXECUTABLE;
    return STATUS_RECORD_FAILED;
}

int cmd_record(struct options *options, int argc, char **argv) {
    (void)argc;
    const struct filter_options *f = &options->filter;
    const struct record_options *o = &options->record;
    struct progress progress = {0};
    struct session_options session = {.output = o->output ? o->output : DEFAULT_OUTPUT,
                                      .filters = f->filters.at,
                                      .filter_count = f->filters.count,
                                      .excludes = f->excludes.at,
                                      .exclude_count = f->excludes.count,
                                      .modules = f->modules.at,
                                      .module_count = f->modules.count,
                                      .libcalls = f->libcalls,
                                      .depth = f->depth,
                                      .threshold_ns = f->threshold_ns,
                                      .overflow = o->overflow,
                                      .ring_bytes = o->ring_bytes,
                                      .follow = o->follow,
                                      .trap_limit = o->trap_limit,
                                      .tier = o->tier,
                                      .progress =
                                          progress_is_wanted(options) ? show_progress : NULL,
                                      .warn = show_warning,
                                      .ctx = &progress};
    struct session_result result;
    struct err err = {0};
    int rc = session_record(&session, argv, &result, &err);
    clear_progress(&progress);
    if (rc < 0) {
        say_err(&err);
        return failure_status(&err);
    }
    AUTO_FREE char *part = mem_printf("%s.part", session.output);
    if (result.trace_error < 0)
        say_err(&result.trace_why);
    bool partial = result.trace_error < 0 && access(part, F_OK) == 0;
    show_summary(&result, partial ? part : session.output);
    return result.exit_status;
}

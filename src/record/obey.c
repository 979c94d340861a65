#include "record/obey.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- filters ---- */

static void free_patterns(struct pattern **patterns, size_t count) {
    for (size_t i = 0; patterns && i < count; i++)
        pattern_free(patterns[i]);
    free(patterns);
}

void chosen_free(struct chosen *c) {
    free_patterns(c->filters, c->filter.filter_count);
    free_patterns(c->excludes, c->filter.exclude_count);
    for (size_t i = 0; i < c->filter.module_count; i++)
        free(c->modules[i]);
    free(c->modules);
    free(c);
}

/* *RET_COUNT counts those that are there, also on error. */
static int make_patterns(const char *const *texts, size_t count, struct pattern ***ret,
                         size_t *ret_count, struct err *err) {
    int rc = 0;
    *ret = mem_alloc((count + 1) * sizeof **ret);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = pattern_new(texts[i], &(*ret)[i], err);
        *ret_count += rc == 0;
    }
    return rc;
}

static int make_choice(const struct request *request, struct chosen **ret, struct err *err) {
    struct chosen *c = mem_alloc(sizeof *c);
    struct filter *f = &c->filter;
    int rc = make_patterns(request->filters.at, request->filters.count, &c->filters,
                           &f->filter_count, err);
    if (rc == 0)
        rc = make_patterns(request->excludes.at, request->excludes.count, &c->excludes,
                           &f->exclude_count, err);
    if (rc < 0) {
        chosen_free(c);
        return rc;
    }
    c->modules = mem_alloc((request->modules.count + 1) * sizeof *c->modules);
    for (; f->module_count < request->modules.count; f->module_count++)
        c->modules[f->module_count] = mem_strdup(request->modules.at[f->module_count]);
    f->filters = (const struct pattern *const *)c->filters;
    f->excludes = (const struct pattern *const *)c->excludes;
    f->modules = (const char *const *)c->modules;
    *ret = c;
    return 0;
}

/* The choice that REQUEST makes; without options that of the beginning. */
static int filter_of(struct recording *r, const struct request *request, struct filter *ret,
                     struct err *err) {
    struct chosen *chosen;
    if (!request->filters.count && !request->excludes.count && !request->modules.count) {
        *ret = filter_of_options(r->options);
        return 0;
    }
    int rc = make_choice(request, &chosen, err);
    if (rc < 0)
        return rc;
    ARRAY_PUSH(&r->choices, chosen);
    *ret = chosen->filter;
    return 0;
}

/* ---- commands ---- */

/* Adds to the answer. */
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
    say(ret, ", stood for %.1f ms", (double)ns / 1e6);
}

static int obey_pause(struct recording *r, struct control_answer *ret, struct err *err) {
    uint64_t ns;
    int rc = tracer_pause(r->tracer, &ns, err);
    say(ret, "paused: ");
    say_pause(r, ns, ret);
    return rc;
}

static int obey_resume(struct recording *r, struct control_answer *ret, struct err *err) {
    uint64_t ns;
    int rc = tracer_go_on(r->tracer, &ns, err);
    say(ret, "recording: ");
    say_pause(r, ns, ret);
    return rc;
}

static int obey_filter(struct recording *r, const struct request *request,
                       struct control_answer *ret, struct err *err) {
    struct filter filter;
    uint64_t ns;
    int rc = filter_of(r, request, &filter, err);
    if (rc == 0)
        rc = tracer_choose(r->tracer, &filter, &ns, err);
    if (rc < 0)
        return rc;
    say(ret, "filter: %zu functions, ", catalog_selected(r->catalog));
    say_pause(r, ns, ret);
    if (tracer_paused(r->tracer))
        say(ret, ", still paused");
    return 0;
}

static int obey_snapshot(const struct recording *r, struct control_answer *ret, struct err *err) {
    int rc = flight_check(r->flight, err);
    if (rc < 0) {
        err_prefix(err, "no snapshot");
        return rc;
    }
    flight_snapshot(r->flight, "spoor ctl");
    say(ret, "snapshot: is made, beside %s", r->options->output);
    return 0;
}

static void obey_status(const struct recording *r, struct control_answer *ret) {
    struct trace_totals totals = trace_writer_totals(r->writer);
    say(ret, "%s: %zu functions, ", tracer_paused(r->tracer) ? "paused" : "recording",
        catalog_selected(r->catalog));
    say_processes(r, ret);
    say(ret, ", %ju events, %ju lost, %.1f MB", totals.entries + totals.exits, totals.lost,
        (double)totals.bytes / 1e6);
}

void obey(void *ctx, const struct request *request, struct control_answer *ret) {
    struct recording *r = ctx;
    struct err err = {0};
    int rc = 0;
    *ret = (struct control_answer){.failed = false};
    switch (request->command) {
    case REQUEST_PAUSE:
        rc = obey_pause(r, ret, &err);
        break;
    case REQUEST_RESUME:
        rc = obey_resume(r, ret, &err);
        break;
    case REQUEST_FILTER:
        rc = obey_filter(r, request, ret, &err);
        break;
    case REQUEST_SNAPSHOT:
        rc = obey_snapshot(r, ret, &err);
        break;
    case REQUEST_STATUS:
        obey_status(r, ret);
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
    if (control_open(r->pid, obey, r, &r->control, &err) < 0)
        report_warn(&r->options->report, err.text);
}

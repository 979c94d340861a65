/* Opens traces for views, and shows the progress of reading after a second. */
#include "cmd/open_view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/judge_calls.h"
#include "analyze/late_names.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/figures.h"
#include "cmd/say.h"
#include "trace/values.h"

enum { NOTED_ITEMS = 1 << 20 }; /* about 20 ms of reading */
static const uint64_t PATIENCE_NS = 1000000000;

static void on_progress(void *ctx, size_t items) {
    struct view *v = ctx;
    v->items += items;
    if (v->items - v->noted_items < NOTED_ITEMS)
        return;
    v->noted_items = v->items;
    if (clock_monotonic_ns() - v->start_ns < PATIENCE_NS)
        return;
    struct trace_counts all = trace_reader_counts(v->source.reader);
    uint64_t total = all.entries + all.exits;
    unsigned percent = total ? (unsigned)((double)v->items * 100 / (double)total) : 0;
    fprintf(stderr, "\rspoor: reading: %u %%\033[K", percent < 100 ? percent : 100);
    v->shows_progress = true;
}

void view_end_progress(struct view *v) {
    if (v->shows_progress)
        fputs("\r\033[K", stderr);
    v->shows_progress = false;
    v->source.on_progress = NULL;
}

static void on_damage(void *ctx, const struct err *err) {
    struct view *v = ctx;
    if (v->shows_progress)
        fputs("\r\033[K", stderr);
    if (!v->is_damaged)
        say_err(err);
    v->is_damaged = true;
}

static void judge(const struct source *s) {
    const uint64_t unknown = judge_calls(s);
    if (unknown)
        say_note("--where leaves out %ju call%s of which it needs values that are not known, or "
                 "were not recorded (record -A 'PATTERN@EXPR' records them)",
                 unknown, unknown == 1 ? "" : "s");
}

int view_open(struct view *v, const struct options *options, int argc, char **argv,
              struct err *err) {
    return view_open_growing(v, options, argc ? argv[0] : "spoor.trace", false, err);
}

/* That the range of SPEC ends before it begins. Where one end is a part of a duration that still
 * grows, this is not known. */
static int check_range(const struct view *v, const struct view_spec *spec, struct err *err) {
    const struct trace_reader *r = v->source.reader;
    uint64_t since = view_moment_ns(r, spec->since_ns), until = view_moment_ns(r, spec->until_ns);
    bool same_unit = (spec->since_ns < VIEW_PERCENT) == (spec->until_ns < VIEW_PERCENT);
    bool is_known = same_unit || !v->grows;
    char from[FIGURE_ROOM], to[FIGURE_ROOM];
    if (!is_known || (same_unit ? spec->since_ns <= spec->until_ns : since <= until))
        return 0;
    figure_time(from, since);
    figure_time(to, until);
    return err_set(err, EINVAL, "bad-range",
                   "%s: nothing is shown: --since is %s, which is later than --until: %s", v->path,
                   from, to);
}

int view_open_growing(struct view *v, const struct options *options, const char *path, bool grows,
                      struct err *err) {
    *v = (struct view){.path = path, .grows = grows, .start_ns = clock_monotonic_ns()};
    struct source *s = &v->source;
    int rc = trace_reader_open(v->path, &s->reader, err);
    if (rc < 0)
        return rc;
    trace_reader_watch_values(s->reader, on_damage, v);
    late_names_find(s->reader);
    s->stream_groups = stream_groups_new(s->reader);
    s->forks = forks_new(s->reader, s->stream_groups);
    s->names = names_new(s->reader);
    rc = check_range(v, &options->shown, err);
    rc = rc ? rc : view_filter_new(&options->shown, s->reader, s->names, &s->filter, err);
    if (rc < 0) {
        view_close(v);
        return rc;
    }
    if (s->filter->conditions)
        judge(s);
    s->ctx = v;
    s->on_damage = on_damage;
    s->on_progress = isatty(STDERR_FILENO) ? on_progress : NULL;
    if (!grows && trace_reader_warning(s->reader))
        say_note("%s", trace_reader_warning(s->reader));
    return 0;
}

void view_close(struct view *v) {
    struct source *s = &v->source;
    view_end_progress(v);
    view_filter_free(s->filter);
    names_free(s->names);
    forks_free(s->forks);
    stream_groups_free(s->stream_groups);
    trace_reader_free(s->reader);
    *s = (struct source){0};
}

bool view_has_failed(const struct view *v) {
    struct trace_counts all = trace_reader_counts(v->source.reader);
    bool is_empty = !all.entries && !all.exits;
    return v->is_damaged || (is_empty && trace_reader_warning(v->source.reader));
}

const char *view_losses(const struct view *v) {
    static char text[128];
    uint64_t lost = trace_reader_counts(v->source.reader).lost;
    const char *more = v->is_damaged ? "; more in damaged parts of the trace" : "";
    if (v->grows) {
        snprintf(text, sizeof text, "%ju events lost so far", lost);
        return lost ? text : NULL;
    }
    if (!trace_reader_complete(v->source.reader))
        snprintf(text, sizeof text,
                 "%ju events known to be lost; the recording did not end: more may be missing",
                 lost);
    else if (!lost && !v->is_damaged && trace_reader_end(v->source.reader)->overwritten)
        snprintf(text, sizeof text, "no events lost, %ju older ones overwritten",
                 trace_reader_end(v->source.reader)->overwritten);
    else if (lost || v->is_damaged)
        snprintf(text, sizeof text, "%ju events lost%s", lost, more);
    else
        return NULL;
    return text;
}

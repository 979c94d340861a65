/* Shows the progress, the warnings and the summary of a recording. */
#include "cmd/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/deaths.h"
#include "cmd/say.h"
#include "values/formats.h"

/* Progress is shown only if the output of the program does not go to the terminal. */
static bool progress_is_wanted(const struct options *options) {
    return !options->quiet && isatty(2) && !isatty(1);
}

void recorder_clear_progress(struct recorder *r) {
    if (r->shown)
        fputs("\r\033[K", stderr);
    r->shown = false;
}

static double millions(uint64_t n) { return (double)n / 1e6; }

static void show_progress(void *ctx, const struct trace_totals *totals) {
    struct recorder *r = ctx;
    r->shown = true;
    fprintf(stderr, "\rspoor: recording: %.1f M events, %.1f MB",
            millions(totals->entries + totals->exits), millions(totals->bytes));
    if (totals->lost)
        fprintf(stderr, ", %ju lost", totals->lost);
    fputs("\033[K", stderr);
    fflush(stderr);
}

static void show_warning(void *ctx, const char *text) {
    recorder_clear_progress(ctx);
    say_note("%s", text);
}

static void show_error(void *ctx, const char *text) {
    recorder_clear_progress(ctx);
    say_error("%s", text);
}

/* ", snapshots A to B", or an empty text. To be freed. */
static char *list_snapshots(const struct record_result *r, const char *output) {
    if (!r->snapshots)
        return mem_strdup("");
    if (r->snapshots == 1)
        return mem_printf(", snapshot %s.1", output);
    return mem_printf(", snapshots %s.1 to %s.%u", output, output, r->snapshots);
}

/* What helps against losses. They are wanted with --overflow=overwrite. */
static const char *advice(const struct record_result *r, const struct record_options *session) {
    bool wanted = session->overflow != OVERFLOW_DROP || r->trace_error;
    return !r->totals.lost || wanted
               ? ""
               : "; a larger --buffer, fewer functions (-F, -N) or --overflow=wait lose less";
}

/* " (X MB of it unpacked)", or an empty text. To be freed. */
static char *tell_unpacked(const struct trace_totals *t) {
    return t->unpacked_bytes ? mem_printf(" (%.1f MB of it unpacked)", millions(t->unpacked_bytes))
                             : mem_strdup("");
}

static void show_totals(const struct record_result *r, const struct record_options *session,
                        const char *file) {
    uint64_t events = r->totals.entries + r->totals.exits;
    AUTO_FREE char *snapshots = list_snapshots(r, r->output);
    AUTO_FREE char *unpacked = tell_unpacked(&r->totals);
    bool overwrites = session->overflow == OVERFLOW_OVERWRITE && !r->trace_error;
    const bool marks = filter_is_about_probes(&session->filter) && !r->functions_instrumented;
    say_note("%s: %ju of %ju functions instrumented, %ju %s, %ju %s, %.1f MB%s, %.3f s%s%s", file,
             r->functions_instrumented, r->functions_seen, marks ? r->totals.controls : events,
             marks ? "marks" : "events", r->totals.lost, overwrites ? "overwritten" : "lost",
             millions(r->totals.bytes), unpacked, (double)r->duration_ns / 1e9, snapshots,
             advice(r, session));
}

struct record_options *recorder_options(struct recorder *r, struct options *options) {
    struct record_options *o = &options->record;
    o->progress = progress_is_wanted(options) ? show_progress : NULL;
    o->report = (struct report){show_warning, show_error, r};
    return o;
}

/* ---- formats ---- */

/* All of FILE as a text, to be freed. NULL: an error was printed. */
static char *read_text(const char *file) {
    enum { MOST_BYTES = 1 << 20 };
    AUTO_FD int fd = open(file, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *text = mem_alloc(MOST_BYTES + 1);
    size_t size = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && size < MOST_BYTES) {
        got = read(fd, text + size, MOST_BYTES - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        say_error("--formats: %s: %s", file, strerror(errno));
    else if (size == MOST_BYTES || memchr(text, 0, size))
        say_error("--formats: %s: this is no text, or it is larger than 1 MB", file);
    else
        return steal(text);
    return NULL;
}

bool recorder_formats(struct record_options *o) {
    struct err err;
    if (o->formats_file && strcmp(o->formats_file, "none") == 0)
        return true;
    AUTO_FREE char *text = o->formats_file ? read_text(o->formats_file) : NULL;
    if (o->formats_file && !text)
        return false;
    o->formats = formats_new();
    if (text && formats_add(o->formats, o->formats_file, text, &err) < 0) {
        say_err(&err);
        return false;
    }
    formats_add_built_in(o->formats);
    return true;
}

/* What has become of a trace that was cut into parts. */
static void show_parts(const struct record_result *r, const struct record_options *session) {
    const struct trace_parts *p = &r->totals.parts;
    uint32_t earlier = p->last ? p->last - 1 - p->removed : 0;
    AUTO_FREE char *removed = p->removed == 1 ? mem_strdup("; part 1 is removed")
                              : p->removed ? mem_printf("; parts 1 to %u are removed", p->removed)
                                           : mem_strdup("");
    if (earlier == 1)
        say_note("%s and %s.%u are parts of one recording%s", r->output, r->output, p->last - 1,
                 removed);
    else if (earlier)
        say_note("%s and %s.%u to %s.%u are parts of one recording%s", r->output, r->output,
                 p->removed + 1, r->output, p->last - 1, removed);
    else if (p->removed)
        say_note("%s is the newest part of the recording%s", r->output, removed);
    if (p->too_large)
        say_note("the trace is larger than --max-size=%ju: what describes the functions takes most "
                 "of that",
                 session->max_bytes);
}

void recorder_summary(const struct record_options *session, const struct record_result *result) {
    AUTO_FREE char *part = mem_printf("%s.part", result->output);
    deaths_show(result->deaths.at, result->deaths.count, (uint32_t)result->pid);
    if (result->trace_error < 0)
        say_err(&result->trace_why);
    bool partial = result->trace_error < 0 && access(part, F_OK) == 0;
    show_totals(result, session, partial ? part : result->output);
    show_parts(result, session);
}

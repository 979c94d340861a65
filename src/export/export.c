/* spoor export: writes a trace in a format that other programs read. */
#include "export/export.h"

#include <sys/stat.h>

#include "analyze/processes.h"
#include "cmd/command.h"
#include "cmd/replay.h"
#include "cmd/say.h"

static export_write *const formats[] = {[EXPORT_CHROME] = export_chrome,
                                        [EXPORT_FOLDED] = export_folded,
                                        [EXPORT_CSV] = export_csv,
                                        [EXPORT_JSON] = replay_json,
                                        [EXPORT_CALLGRIND] = export_callgrind,
                                        [EXPORT_PERFETTO] = export_perfetto,
                                        [EXPORT_PPROF] = export_pprof,
                                        [EXPORT_SPEEDSCOPE] = export_speedscope,
                                        [EXPORT_FIREFOX] = export_firefox,
                                        [EXPORT_PARQUET] = export_parquet};

void export_walk(const struct view *view, const struct visitor *visitor,
                 void (*on_stream_group)(void *ctx, struct stream_group group),
                 const struct out *out) {
    const struct source *source = &view->source;
    size_t count = stream_groups_count(source->stream_groups);
    for (size_t i = 0; i < count && !out->error; i++) {
        struct stream_group group = stream_groups_at(source->stream_groups, i);
        if (!walk_shows(source, group))
            continue;
        if (on_stream_group)
            on_stream_group(visitor->ctx, group);
        struct walk *walk = walk_new(source, group, visitor);
        while (!out->error && walk_step(walk))
            continue;
        walk_free(walk);
    }
}

const char *export_command(const struct view *view, uint32_t stream) {
    const struct trace_reader *reader = view->source.reader;
    return process_name(reader, process_of(reader, stream));
}

const char *export_end(enum call_end how, bool inferred) {
    static const char *const ends[] = {
        [CALL_RETURNED] = NULL,    [CALL_TAIL] = "tail call",    [CALL_UNWOUND] = "unwound",
        [CALL_MISSED] = "unwound", [CALL_THREAD_ENDED] = "open", [CALL_OPEN] = "open",
        [CALL_CUT] = "cut"};
    return inferred ? "inferred" : ends[how];
}

static bool is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A file gets full names by default, as a pipe does. */
static struct term term_of(const struct options *o) {
    struct view_options view = o->view;
    if (o->export.output && view.names == NAMES_DEFAULT)
        view.names = NAMES_FULL;
    return term_open(&view);
}

static int export_to(const struct export_options *options, struct view *view) {
    struct out out;
    struct err err;
    if (options->format == EXPORT_PARQUET && !options->output && isatty(STDOUT_FILENO)) {
        say_error("export: parquet is not text: give -o FILE");
        return STATUS_USAGE;
    }
    if (out_open(&out, options->output, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (!options->output && isatty(STDOUT_FILENO))
        view_end_progress(view);
    formats[options->format](view, &out);
    view_end_progress(view);
    return out_close(&out);
}

static int export(const struct export_options *options, struct view *view) {
    if (options->output && is_same_file(options->output, view->path)) {
        say_error("%s: is the trace itself: choose another -o", options->output);
        return STATUS_FAILED;
    }
    int status = options->format == EXPORT_CTF ? export_ctf(view, options->output)
                                               : export_to(options, view);
    if (trace_reader_counts(view->source.reader).lost && status == STATUS_OK)
        say_note("%s: %s", view->path, view_losses(view));
    return view_has_failed(view) ? STATUS_FAILED : status;
}

static bool has_room_for_values(enum export_format format) {
    return format == EXPORT_CHROME || format == EXPORT_CSV || format == EXPORT_JSON ||
           format == EXPORT_PERFETTO || format == EXPORT_CTF || format == EXPORT_FIREFOX ||
           format == EXPORT_PARQUET;
}

static bool is_restricted(const struct view_spec *s) {
    return !filter_is_empty(&s->filter) || s->depth || s->threshold_ns || s->since_ns ||
           s->until_ns != UINT64_MAX || s->tid || s->pid || s->processes.count || s->ways.count ||
           s->hidden.count;
}

/* Writes the trace itself anew: what recording had no time for is compressed. */
static int repack(const struct trace_reader *r, const char *from, const char *to) {
    struct err err;
    uint64_t damaged;
    if (is_same_file(to, from)) {
        say_error("%s: is the trace itself: choose another -o", to);
        return STATUS_FAILED;
    }
    if (trace_reader_warning(r))
        say_note("%s", trace_reader_warning(r));
    if (trace_repack(r, to, &damaged, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (damaged)
        say_error("%s: %ju damaged blocks are not in %s", from, damaged, to);
    return damaged ? STATUS_FAILED : STATUS_OK;
}

static int cmd_repack(const struct options *options, const char *path) {
    struct trace_reader *r;
    struct err err;
    if (!options->export.output || is_restricted(&options->shown)) {
        say_error("export: --format=spoor writes a whole trace to a file: give -o and no filter");
        return STATUS_USAGE;
    }
    if (trace_reader_open(path, &r, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    int status = repack(r, path, options->export.output);
    trace_reader_free(r);
    return status;
}

int cmd_export(struct options *options, int argc, char **argv) {
    struct view view;
    struct err err;
    if (options->export.format == EXPORT_SPOOR)
        return cmd_repack(options, argc ? argv[0] : "spoor.trace");
    if (options->export.values && !has_room_for_values(options->export.format)) {
        say_error("export: --values: this format has no place for them: take chrome, csv, json, "
                  "perfetto, ctf, firefox or parquet");
        return STATUS_USAGE;
    }
    if (view_open(&view, options, argc, argv, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    view.term = term_of(options);
    view.host = options->export.host;
    view.hides_values = !options->export.values;
    int status = export(&options->export, &view);
    view_close(&view);
    return status;
}

/*
 * The Common Trace Format 1.8, with the events of LTTng-UST, so that its readers (babeltrace2,
 * Trace Compass) show call stacks. The output is a folder with a file for each thread, and one for
 * changes of the recording.
 *
 * Readers keep a stack of calls for each vtid. So calls on a stack that is no thread's own (a
 * coroutine's) have a vtid above those of all threads. They are in the file of the thread that ran
 * them. A call that did not return has an exit, too, where its end is known to be.
 */
#include "analyze/lines.h"
#include "base/checksum.h"
#include "base/utf8.h"
#include "cmd/change_texts.h"
#include "cmd/command.h"
#include "cmd/say.h"
#include "cmd/shown_values.h"
#include "export/ctf_metadata.h"
#include "export/export.h"
#include "export/run_addresses.h"
#include "export/stacks.h"

enum { FIRST_STACK_TID = 1 << 22 }; /* Linux' PID_MAX_LIMIT: above all threads */

struct ctf {
    struct trace_reader *reader;
    struct names *names;
    struct ctf_writer writer;
    struct run_addresses *addresses;
    struct export_stacks stacks; /* numbered from 1 */
    uint64_t stack_count;
    char **thread_names;        /* by stream; NULL: not needed yet */
    uint8_t *used;              /* by function: 1 if it has events */
    bool shows_values;          /* calls have a text of their values */
    struct call_values *values; /* NULL: there are none */
};

/* ---- events ---- */

static void write_context(struct ctf *c, uint32_t stream) {
    const struct trace_thread *thread = trace_reader_thread(c->reader, stream);
    if (!c->thread_names[stream])
        c->thread_names[stream] = utf8_repair(thread->name);
    ctf_number(&c->writer, stream, thread->pid, 4);
    ctf_number(&c->writer, stream, thread->tid, 4);
    ctf_text(&c->writer, stream, c->thread_names[stream]);
}

/* Of a call. BEGAN is the stream where it began. */
static void write_call_context(struct ctf *c, const struct line *line, uint32_t began) {
    if (!line->stack) {
        write_context(c, line->stream);
        return;
    }
    AUTO_FREE char *name = mem_printf("stack %u", line->stack);
    uint64_t *number = export_stack(&c->stacks, began, line->stack);
    if (!*number)
        *number = ++c->stack_count;
    ctf_number(&c->writer, line->stream, trace_reader_thread(c->reader, began)->pid, 4);
    ctf_number(&c->writer, line->stream, FIRST_STACK_TID + *number, 4);
    ctf_text(&c->writer, line->stream, name);
}

static void begin_call(struct ctf *c, const struct line *line, uint32_t began, unsigned id) {
    ctf_event(&c->writer, line->stream, id, line->ns);
    write_call_context(c, line, began);
}

/* Address, call site (which is not known) and number of the function. */
static void write_function(struct ctf *c, const struct line *line) {
    uint32_t pid = trace_reader_thread(c->reader, line->stream)->pid;
    uint64_t address = run_address(c->addresses, line->function, pid, line->ns);
    c->used[line->function] = 1;
    ctf_number(&c->writer, line->stream, address, 8);
    ctf_number(&c->writer, line->stream, 0, 8);
    ctf_number(&c->writer, line->stream, line->function, 4);
}

/* The arguments of a call, or its result, as replay shows them; "-": there are none. babeltrace2
 * shows an old text in place of an empty one. */
static void write_values(struct ctf *c, const struct line *line, bool is_result) {
    const struct shown_call call = shown_line(line);
    struct words text = {0};
    if (!c->shows_values)
        return;
    if (is_result)
        shown_result(c->values, &call, &text);
    else
        shown_arguments(c->values, &call, &text);
    AUTO_FREE char *repaired = utf8_repair(words_text(&text));
    ctf_text(&c->writer, line->stream, *repaired ? repaired : "-");
    words_done(&text);
}

static void write_entry(struct ctf *c, const struct line *line) {
    begin_call(c, line, line->stream, CTF_ENTRY);
    write_function(c, line);
    ctf_number(&c->writer, line->stream, line->before, 1);
    write_values(c, line, false);
}

static void write_exit(struct ctf *c, const struct line *line) {
    static const enum ctf_end ends[] = {[CALL_RETURNED] = CTF_RETURNED,
                                        [CALL_TAIL] = CTF_TAIL,
                                        [CALL_UNWOUND] = CTF_UNWOUND,
                                        [CALL_MISSED] = CTF_UNWOUND,
                                        [CALL_THREAD_ENDED] = CTF_OPEN,
                                        [CALL_OPEN] = CTF_OPEN,
                                        [CALL_CUT] = CTF_CUT};
    if (line->paused_ns) {
        begin_call(c, line, line->began, CTF_CALL_PAUSED);
        ctf_number(&c->writer, line->stream, line->paused_ns, 8);
    }
    begin_call(c, line, line->began, CTF_EXIT);
    write_function(c, line);
    ctf_number(&c->writer, line->stream, line->inferred ? CTF_INFERRED : ends[line->how], 1);
    ctf_number(&c->writer, line->stream, line->clipped, 1);
    write_values(c, line, true);
}

static void write_mark(struct ctf *c, const struct line *line) {
    begin_call(c, line, line->stream, CTF_MARK);
    c->used[line->function] = 1;
    ctf_number(&c->writer, line->stream, line->function, 4);
    write_values(c, line, false);
}

static void write_lost(struct ctf *c, const struct line *line) {
    ctf_discard(&c->writer, line->stream, line->ns, line->lost);
    ctf_event(&c->writer, line->stream, CTF_LOST, line->ns);
    write_context(c, line->stream);
    ctf_number(&c->writer, line->stream, line->lost, 8);
}

static void write_pause(struct ctf *c, const struct line *line) {
    ctf_event(&c->writer, line->stream, CTF_PAUSE, line->ns);
    write_context(c, line->stream);
    ctf_number(&c->writer, line->stream, line->duration_ns, 8);
    ctf_text(&c->writer, line->stream, pause_cause(line->cause));
    ctf_number(&c->writer, line->stream, line->in_call, 1);
}

/* Changes have a stream of their own: the last one. */
static void write_change(struct ctf *c, const struct change *change) {
    uint32_t stream = c->writer.streams - 1;
    AUTO_FREE char *text = changed_text(change), *repaired = utf8_repair(text);
    ctf_event(&c->writer, stream, CTF_CHANGE, change->ns);
    ctf_number(&c->writer, stream, change->pid, 4);
    ctf_number(&c->writer, stream, change->pid, 4);
    ctf_text(&c->writer, stream, "spoor");
    ctf_number(&c->writer, stream, change->end_ns - change->ns, 8);
    ctf_text(&c->writer, stream, repaired);
}

static void write_line(struct ctf *c, const struct line *line) {
    switch (line->kind) {
    case LINE_ENTRY:
        write_entry(c, line);
        break;
    case LINE_EXIT:
        write_exit(c, line);
        break;
    case LINE_LOST:
        write_lost(c, line);
        break;
    case LINE_PAUSE:
        write_pause(c, line);
        break;
    case LINE_CHANGE:
        write_change(c, line->change);
        break;
    case LINE_MARK:
        write_mark(c, line);
        break;
    case LINE_LEAF: /* only with folded leaves */
        break;
    }
}

/* ---- all of it ---- */

/* The same for each export of a trace (RFC 9562, version 8). */
static void make_uuid(const struct trace_reader *r, uint8_t uuid[CTF_UUID]) {
    uint64_t facts[] = {trace_reader_session(r)->start_unix_ns, trace_reader_file_bytes(r),
                        trace_reader_duration_ns(r), 0};
    for (int i = 0; i < 2; i++) {
        uint64_t half = checksum(facts, sizeof facts);
        memcpy(uuid + 8 * i, &half, sizeof half);
        facts[3]++;
    }
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x80);
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

static void init(struct ctf *c, const struct view *view, struct out_dir *dir) {
    const struct source *source = &view->source;
    uint32_t streams = (uint32_t)trace_reader_stream_count(source->reader);
    *c = (struct ctf){
        .reader = source->reader, .names = source->names, .shows_values = !view->hides_values};
    ctf_writer_init(&c->writer, dir, streams + 1);
    make_uuid(c->reader, c->writer.uuid);
    c->addresses = run_addresses_new(c->reader, c->names);
    export_stacks_init(&c->stacks, c->reader, source->stream_groups);
    c->thread_names = mem_alloc((streams + 1) * sizeof *c->thread_names);
    c->used = mem_alloc(names_count(c->names));
    c->values = c->shows_values ? call_values_new(c->reader, c->names) : NULL;
}

static void done(struct ctf *c) {
    for (uint32_t i = 0; i < c->writer.streams; i++)
        free(c->thread_names[i]);
    free(c->thread_names);
    free(c->used);
    call_values_free(c->values);
    export_stacks_done(&c->stacks);
    run_addresses_free(c->addresses);
    ctf_writer_done(&c->writer);
}

/* Returns 0 or -errno. */
static int write_all(struct ctf *c, const struct source *source) {
    struct ctf_writer *w = &c->writer;
    struct lines *lines = lines_new(source, false);
    lines_want_marks(lines);
    for (const struct line *line; !w->error && (line = lines_next(lines));)
        write_line(c, line);
    lines_free(lines);
    ctf_writer_finish(w);
    if (w->error)
        return -w->error;
    struct ctf_description d = {trace_reader_session(c->reader), c->names, c->used,
                                c->shows_values};
    size_t length;
    AUTO_FREE char *text = ctf_metadata(&d, w->uuid, &length);
    return out_dir_write(w->dir, OUT_DIR_METADATA, text, length);
}

int export_ctf(struct view *view, const char *path) {
    struct out_dir dir;
    struct err err;
    struct ctf c;
    if (!path) {
        say_error("export: --format=ctf writes a folder: give -o");
        return STATUS_USAGE;
    }
    if (out_dir_open(&dir, path, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    init(&c, view, &dir);
    int rc = write_all(&c, &view->source);
    view_end_progress(view);
    done(&c);
    if (rc < 0) {
        out_dir_abandon(&dir);
        say_error("%s: %s", path, strerror(-rc));
        return STATUS_FAILED;
    }
    out_dir_close(&dir);
    return STATUS_OK;
}

/*
 * Trace events, the JSON that Perfetto and chrome://tracing load. Metadata comes first. Each call
 * is a complete event ("X"); the calls of a thread stand in the order of their ends.
 *
 * Stacks of coroutines do not nest within the stack of their thread. So a call on another stack
 * than the thread's own is a pair of asynchronous events ("b", "e"): viewers show a track for each
 * stack. If the call ends in another thread, so does the pair. Pauses are such pairs, too; other
 * changes of the recording are instants.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/changed.h"
#include "cmd/export.h"
#include "cmd/json.h"
#include "cmd/spell.h"

struct chrome {
    const struct view *view;
    struct out *out;
    struct speller speller;
    uint32_t group;  /* the first stream of the present group; with a number it names a stack */
    uint32_t stream; /* of head */
    char head[48];   /* the members after "ph" that all events of a stream share */
    size_t head_length;
};

static char *compose(struct names *names, uint32_t function) {
    AUTO_FREE char *name = json_string(names_function(names, function));
    AUTO_FREE char *module = json_string(names_module_name(names, names_module(names, function)));
    return mem_printf(",\"name\":%s,\"cat\":%s", name, module);
}

static void set_stream(struct chrome *c, uint32_t stream) {
    const struct trace_thread *t = trace_reader_thread(c->view->source.reader, stream);
    c->stream = stream;
    c->head_length = (size_t)snprintf(c->head, sizeof c->head,
                                      "\",\"pid\":%u,\"tid\":%u,\"ts\":", t->pid, t->tid);
}

/* Writes the members up to "ts". */
static void begin_event(struct chrome *c, char phase, uint32_t stream, uint64_t ns) {
    if (stream != c->stream)
        set_stream(c, stream);
    out_words(c->out, ",\n{\"ph\":\"");
    out_char(c->out, phase);
    out_text(c->out, c->head, c->head_length);
    out_micros(c->out, ns);
}

static const char *end_of(const struct walk_call *call) {
    static const char *const ends[] = {
        [CALL_RETURNED] = NULL,    [CALL_TAIL] = "tail call",    [CALL_UNWOUND] = "unwound",
        [CALL_MISSED] = "unwound", [CALL_THREAD_ENDED] = "open", [CALL_OPEN] = "open",
        [CALL_CUT] = "cut"};
    return call->inferred ? "inferred" : ends[call->how];
}

/* Times of day are not shifted: "dur" contains pauses, which "paused_ns" tells. */
static void end_event(struct chrome *c, const struct walk_call *call) {
    const char *end = end_of(call), *separator = ",\"args\":{";
    out_spelled(c->out, &c->speller, call->function);
    if (call->before) {
        out_text(c->out, separator, strlen(separator));
        out_words(c->out, "\"before\":true");
        separator = ",";
    }
    if (call->paused_ns) {
        out_text(c->out, separator, strlen(separator));
        out_words(c->out, "\"paused_ns\":");
        out_number(c->out, call->paused_ns);
        separator = ",";
    }
    if (end) {
        out_text(c->out, separator, strlen(separator));
        out_words(c->out, "\"end\":\"");
        out_text(c->out, end, strlen(end));
        out_char(c->out, '"');
        separator = ",";
    }
    if (*separator == ',' && !separator[1])
        out_char(c->out, '}');
    out_char(c->out, '}');
}

static void write_async(struct chrome *c, char phase, const struct walk_call *call) {
    if (phase == 'b')
        begin_event(c, phase, call->stream, call->start_ns);
    else
        begin_event(c, phase, call->end_stream, call->end_ns);
    out_words(c->out, ",\"id\":\"");
    out_number(c->out, c->group);
    out_char(c->out, '.');
    out_number(c->out, call->stack);
    out_char(c->out, '"');
    end_event(c, call);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct chrome *c = ctx;
    if (call->brief)
        return;
    if (call->stack) {
        write_async(c, 'b', call);
        write_async(c, 'e', call);
        return;
    }
    begin_event(c, 'X', call->stream, call->start_ns);
    out_words(c->out, ",\"dur\":");
    out_micros(c->out, call->end_ns - call->start_ns);
    end_event(c, call);
}

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    struct chrome *c = ctx;
    begin_event(c, 'i', stream, ns);
    out_words(c->out, ",\"s\":\"t\",\"name\":\"");
    out_number(c->out, count);
    if (count == 1)
        out_words(c->out, " event lost\"}");
    else
        out_words(c->out, " events lost\"}");
}

/* A thread stood still because of the recorder: a span of its own, as calls do not nest with it. */
static void on_pause(void *ctx, const struct walk_pause *pause) {
    struct chrome *c = ctx;
    const char *cause = pause_cause(pause->cause);
    uint64_t times[] = {pause->end_ns - pause->length_ns, pause->end_ns};
    for (int i = 0; i < 2; i++) {
        begin_event(c, i ? 'e' : 'b', pause->stream, times[i]);
        out_words(c->out, ",\"id\":\"pause.");
        out_number(c->out, pause->stream);
        out_words(c->out, "\",\"cat\":\"spoor\",\"name\":\"spoor: ");
        out_text(c->out, cause, strlen(cause));
        out_words(c->out, "\"}");
    }
}

/* Pauses of the recording are spans on a track of their process. Changes without a pid concern all
 * processes. */
static void write_change(struct out *out, char phase, uint64_t ns, const struct change *change) {
    AUTO_FREE char *text = changed_text(change), *name = json_string(text);
    AUTO_FREE char *head = mem_printf(",\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u,\"ts\":", phase,
                                      change->pid, change->pid);
    AUTO_FREE char *tail = phase == 'i' ? mem_printf(",\"s\":\"%c\"", change->pid ? 'p' : 'g')
                                        : mem_printf(",\"id\":\"paused.%u\"", change->pid);
    out_text(out, head, strlen(head));
    out_micros(out, ns);
    out_text(out, tail, strlen(tail));
    out_words(out, ",\"name\":");
    out_text(out, name, strlen(name));
    out_words(out, ",\"cat\":\"spoor\"}");
}

static void write_changes(const struct source *s, struct out *out) {
    struct changes changes;
    changes_read(s->reader, &changes);
    changes_show(&changes, s->filter, s->reader);
    for (size_t i = 0; i < changes.list.count; i++) {
        const struct change *change = &changes.list.at[i];
        bool paused = change->kind == TRACE_PAUSED;
        write_change(out, paused ? 'b' : 'i', change->ns, change);
        if (paused)
            write_change(out, 'e', change->end_ns, change);
    }
    changes_done(&changes);
}

static void on_stream_group(void *ctx, struct stream_group group) {
    struct chrome *c = ctx;
    c->group = group.streams[0];
    set_stream(c, c->group);
}

/* Writes the name of a process (TID 0) or thread. */
static void write_name(struct out *out, uint32_t pid, uint32_t tid, const char *name) {
    AUTO_FREE char *quoted = json_string(name);
    AUTO_FREE char *thread = tid ? mem_printf(",\"tid\":%u", tid) : mem_strdup("");
    AUTO_FREE char *event =
        mem_printf("{\"ph\":\"M\",\"pid\":%u%s,\"name\":\"%s\",\"args\":{\"name\":%s}}", pid,
                   thread, tid ? "thread_name" : "process_name", quoted);
    out_text(out, event, strlen(event));
}

/* Writes a comma before all names but the first. Names precede all other events. */
static void write_names(const struct trace_reader *reader, struct out *out) {
    size_t processes = trace_reader_process_count(reader);
    for (size_t i = 0; i < processes; i++) {
        const struct trace_process *p = trace_reader_process(reader, i);
        if (i)
            out_words(out, ",\n");
        write_name(out, p->pid, 0, p->command);
    }
    for (size_t i = 0; i < trace_reader_stream_count(reader); i++) {
        const struct trace_thread *t = trace_reader_thread(reader, i);
        if (i || processes)
            out_words(out, ",\n");
        write_name(out, t->pid, t->tid, t->name);
    }
}

void export_chrome(const struct view *view, struct out *out) {
    struct chrome c = {.view = view, .out = out};
    struct visitor visitor = {.ctx = &c, .close = on_close, .lost = on_lost, .pause = on_pause};
    speller_init(&c.speller, view->source.names, compose);
    out_words(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    write_names(view->source.reader, out);
    write_changes(&view->source, out);
    export_walk(view, &visitor, on_stream_group, out);
    out_words(out, "\n]}\n");
    speller_done(&c.speller);
}

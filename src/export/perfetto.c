/*
 * Perfetto's own format: TracePackets with TrackEvents.
 *
 * All packets are one sequence, in order of time. Names are written where they are first used, and
 * have the number of their function or module, plus 1. Times are differences from the packet
 * before (a clock of the sequence), or else in nanoseconds since the trace's start (BOOTTIME).
 *
 * Each thread is a track; so is each other stack (of a coroutine, say). What spoor did to a thread
 * or a process has a track, too, as calls do not nest with that. Tracks are described before their
 * first event. A call that did not return ends where its end is known to be, and tells how.
 */
#include "analyze/lines.h"
#include "analyze/processes.h"
#include "cmd/change_texts.h"
#include "cmd/shown_values.h"
#include "export/export.h"
#include "export/perfetto_fields.h"
#include "export/protobuf.h"
#include "export/stacks.h"
#include "values/parts.h"

/* Names of annotations; their interned number is 1 more. */
enum annotation { END, PAUSED_NS, BEFORE, CLIPPED, COUNT, IN_CALL, ARGUMENTS, RESULT, ANNOTATIONS };
static const char *const annotation_names[ANNOTATIONS] = {
    "end", "paused_ns", "before", "clipped", "count", "in_call", "arguments", "result"};

struct process_track {
    uint32_t pid, track;
};

struct perfetto {
    const struct view *view;
    struct trace_reader *reader;
    struct names *names;
    struct out *out;
    struct proto packet;
    uint64_t last_ns;    /* of the sequence's clock */
    uint8_t *functions;  /* by function: 1 if its name was written */
    uint8_t *modules;    /* likewise */
    uint64_t tracks;     /* so far: their numbers are from 1 on */
    uint64_t everywhere; /* the track of all processes */
    /* Numbers of tracks; 0: not described yet. */
    uint64_t *threads, *pauses; /* by stream */
    ARRAY(struct process_track) processes;
    struct export_stacks stacks;
    struct call_values *values; /* NULL: they are not written */
};

/* ---- packets ---- */

/* The packet ends with end_packet(). */
static size_t begin_packet(struct perfetto *p, unsigned flags) {
    size_t begin = proto_begin(&p->packet, TRACE_PACKET);
    proto_uint(&p->packet, PACKET_SEQUENCE_ID, SEQUENCE);
    proto_uint(&p->packet, PACKET_SEQUENCE_FLAGS, flags);
    return begin;
}

static void end_packet(struct perfetto *p, size_t begin) {
    proto_end(&p->packet, begin);
    proto_flush(&p->packet, p->out);
}

static void write_time(struct perfetto *p, uint64_t ns) {
    if (ns < p->last_ns) { /* the beginning of a pause that has ended, say */
        proto_uint(&p->packet, PACKET_TIMESTAMP, ns);
        proto_uint(&p->packet, PACKET_CLOCK_ID, BOOTTIME);
    } else {
        proto_uint(&p->packet, PACKET_TIMESTAMP, ns - p->last_ns);
        p->last_ns = ns;
    }
}

static void write_interned(struct perfetto *p, unsigned kind, uint64_t iid, const char *name) {
    size_t begin = proto_begin(&p->packet, kind);
    proto_uint(&p->packet, NAMED_IID, iid);
    proto_text(&p->packet, NAMED_NAME, name);
    proto_end(&p->packet, begin);
}

static void write_clock(struct perfetto *p, unsigned id, uint64_t ns) {
    size_t begin = proto_begin(&p->packet, SNAPSHOT_CLOCK);
    proto_uint(&p->packet, CLOCK_ID, id);
    proto_uint(&p->packet, CLOCK_TIMESTAMP, ns);
    if (id == SEQUENCE_CLOCK)
        proto_uint(&p->packet, CLOCK_IS_INCREMENTAL, 1);
    proto_end(&p->packet, begin);
}

/* The first packet: the same moment on all clocks. */
static void write_head(struct perfetto *p) {
    uint64_t realtime = trace_reader_session(p->reader)->start_unix_ns;
    size_t packet = begin_packet(p, STATE_CLEARED);
    size_t begin = proto_begin(&p->packet, PACKET_CLOCK_SNAPSHOT);
    write_clock(p, BOOTTIME, 0);
    write_clock(p, SEQUENCE_CLOCK, 0);
    if (realtime)
        write_clock(p, REALTIME, realtime);
    proto_end(&p->packet, begin);
    begin = proto_begin(&p->packet, PACKET_DEFAULTS);
    proto_uint(&p->packet, PACKET_CLOCK_ID, SEQUENCE_CLOCK);
    proto_end(&p->packet, begin);
    begin = proto_begin(&p->packet, PACKET_INTERNED_DATA);
    for (unsigned i = 0; i < (p->values ? ANNOTATIONS : ARGUMENTS); i++)
        write_interned(p, INTERNED_ANNOTATION_NAME, i + 1, annotation_names[i]);
    proto_end(&p->packet, begin);
    end_packet(p, packet);
}

/* ---- tracks ---- */

struct description {
    uint64_t parent;  /* 0: none */
    const char *name; /* of a track that is no process and no thread; else NULL */
    uint32_t pid;     /* of a process */
    const struct trace_thread *thread;
};

/* The name of the program that PID executed last: viewers take one name. */
static const char *last_name(const struct trace_reader *r, uint32_t pid) {
    const char *name = "unknown";
    for (size_t i = 0; i < trace_reader_process_count(r); i++)
        if (trace_reader_process(r, i)->pid == pid)
            name = trace_reader_process(r, i)->command;
    return name;
}

static uint64_t describe(struct perfetto *p, const struct description *d) {
    struct proto *to = &p->packet;
    uint64_t track = ++p->tracks;
    size_t packet = begin_packet(p, NEEDS_STATE), begin = proto_begin(to, PACKET_TRACK_DESCRIPTOR);
    proto_uint(to, TRACK_UUID, track);
    if (d->parent)
        proto_uint(to, TRACK_PARENT, d->parent);
    if (d->name) {
        proto_text(to, TRACK_NAME, d->name);
    } else if (d->thread) {
        size_t thread = proto_begin(to, TRACK_THREAD);
        proto_uint(to, THREAD_PID, d->thread->pid);
        proto_uint(to, THREAD_TID, d->thread->tid);
        proto_text(to, THREAD_NAME, d->thread->name);
        proto_end(to, thread);
    } else {
        size_t process = proto_begin(to, TRACK_PROCESS);
        proto_uint(to, PROCESS_PID, d->pid);
        proto_text(to, PROCESS_NAME, last_name(p->reader, d->pid));
        proto_end(to, process);
    }
    proto_end(to, begin);
    end_packet(p, packet);
    return track;
}

static uint64_t process_track(struct perfetto *p, uint32_t pid) {
    for (size_t i = p->processes.count; i-- > 0;)
        if (p->processes.at[i].pid == pid)
            return p->processes.at[i].track;
    uint64_t track = describe(p, &(struct description){.pid = pid});
    ARRAY_PUSH(&p->processes, ((struct process_track){pid, (uint32_t)track}));
    return track;
}

static uint64_t thread_track(struct perfetto *p, uint32_t stream) {
    const struct trace_thread *thread = trace_reader_thread(p->reader, stream);
    if (!p->threads[stream]) {
        uint64_t parent = process_track(p, thread->pid);
        p->threads[stream] = describe(p, &(struct description){.parent = parent, .thread = thread});
    }
    return p->threads[stream];
}

static uint64_t pause_track(struct perfetto *p, uint32_t stream) {
    if (!p->pauses[stream]) {
        uint64_t parent = thread_track(p, stream);
        p->pauses[stream] =
            describe(p, &(struct description){.parent = parent, .name = "pauses by spoor"});
    }
    return p->pauses[stream];
}

/* The track of a stack other than its thread's own. It may continue in another thread. */
static uint64_t stack_track(struct perfetto *p, uint32_t stream, uint32_t stack) {
    uint64_t *track = export_stack(&p->stacks, stream, stack);
    if (!*track) {
        AUTO_FREE char *name = mem_printf("stack %u", stack);
        uint64_t parent = process_track(p, trace_reader_thread(p->reader, stream)->pid);
        *track = describe(p, &(struct description){.parent = parent, .name = name});
    }
    return *track;
}

static uint64_t track_of(struct perfetto *p, const struct line *line, uint32_t stream) {
    return line->stack ? stack_track(p, stream, line->stack) : thread_track(p, stream);
}

/* ---- events ---- */

struct begun { /* where a packet and its event begin */
    size_t packet, event;
};

static struct begun begin_event(struct perfetto *p, unsigned type, uint64_t track, uint64_t ns) {
    struct begun begun = {.packet = begin_packet(p, NEEDS_STATE)};
    write_time(p, ns);
    begun.event = proto_begin(&p->packet, PACKET_TRACK_EVENT);
    proto_uint(&p->packet, EVENT_TYPE, type);
    proto_uint(&p->packet, EVENT_TRACK, track);
    return begun;
}

static void end_event(struct perfetto *p, struct begun begun) {
    proto_end(&p->packet, begun.event);
    end_packet(p, begun.packet);
}

static void annotate(struct perfetto *p, enum annotation name, unsigned kind, uint64_t value) {
    size_t begin = proto_begin(&p->packet, EVENT_ANNOTATION);
    proto_uint(&p->packet, ANNOTATION_NAME_IID, name + 1);
    proto_uint(&p->packet, kind, value);
    proto_end(&p->packet, begin);
}

static void annotate_end(struct perfetto *p, const char *text) {
    size_t begin = proto_begin(&p->packet, EVENT_ANNOTATION);
    proto_uint(&p->packet, ANNOTATION_NAME_IID, END + 1);
    proto_text(&p->packet, ANNOTATION_TEXT, text);
    proto_end(&p->packet, begin);
}

/* Integers and floats are numbers; the rest is text, as of replay: "{id=3, name=\"o3\"}". */
static void annotate_value(struct perfetto *p, const struct item *item) {
    const struct printer *printer = call_values_printer(p->values);
    struct plain_value number;
    struct words text = {0};
    if (!part_number(printer, item, &number)) {
        print_text(printer, item, &text);
        proto_text(&p->packet, ANNOTATION_TEXT, words_text(&text));
    } else if (number.kind == PLAIN_REAL) {
        proto_double(&p->packet, ANNOTATION_DOUBLE, number.real);
    } else if (number.negative) {
        proto_uint(&p->packet, ANNOTATION_INT, -number.magnitude);
    } else {
        proto_uint(&p->packet, ANNOTATION_UINT, number.magnitude);
    }
    words_done(&text);
}

/* A dictionary by the names of items. */
static void annotate_values(struct perfetto *p, enum annotation name,
                            const struct call_point *point) {
    struct trace_occurrence o;
    struct item item;
    if (!p->values || !call_values_find(p->values, point, &o) || !o.capture->count)
        return;
    size_t begin = proto_begin(&p->packet, EVENT_ANNOTATION);
    proto_uint(&p->packet, ANNOTATION_NAME_IID, name + 1);
    for (size_t at = 0; item_next(o.capture, o.values, &at, &item);) {
        size_t entry = proto_begin(&p->packet, ANNOTATION_ENTRY);
        proto_text(&p->packet, ANNOTATION_NAME, item.values[0].name);
        annotate_value(p, &item);
        proto_end(&p->packet, entry);
    }
    proto_end(&p->packet, begin);
}

/* Writes the names of a function and its module, unless that was done. */
static void intern(struct perfetto *p, uint32_t function, uint32_t module) {
    if (p->functions[function])
        return;
    size_t begin = proto_begin(&p->packet, PACKET_INTERNED_DATA);
    p->functions[function] = 1;
    write_interned(p, INTERNED_NAME, function + 1, names_function(p->names, function));
    if (!p->modules[module])
        write_interned(p, INTERNED_CATEGORY, module + 1, names_module_name(p->names, module));
    p->modules[module] = 1;
    proto_end(&p->packet, begin);
}

/* A call that begins, or a mark. */
static void write_entry(struct perfetto *p, const struct line *line, unsigned type) {
    uint32_t module = names_module(p->names, line->function);
    struct begun begun = begin_event(p, type, track_of(p, line, line->stream), line->ns);
    proto_uint(&p->packet, EVENT_CATEGORY_IID, module + 1);
    proto_uint(&p->packet, EVENT_NAME_IID, line->function + 1);
    if (line->before)
        annotate(p, BEFORE, ANNOTATION_BOOL, 1);
    const struct shown_call call = shown_line(line);
    if (call.has_entry)
        annotate_values(p, ARGUMENTS, &call.entry);
    proto_end(&p->packet, begun.event);
    intern(p, line->function, module);
    end_packet(p, begun.packet);
}

static void write_exit(struct perfetto *p, const struct line *line) {
    struct begun begun = begin_event(p, TYPE_SLICE_END, track_of(p, line, line->began), line->ns);
    const char *end = export_end(line->how, line->inferred);
    if (end)
        annotate_end(p, end);
    if (line->paused_ns)
        annotate(p, PAUSED_NS, ANNOTATION_UINT, line->paused_ns);
    if (line->clipped)
        annotate(p, CLIPPED, ANNOTATION_BOOL, 1);
    const struct shown_call call = shown_line(line);
    if (call.has_end)
        annotate_values(p, RESULT, &call.end);
    end_event(p, begun);
}

static void write_lost(struct perfetto *p, const struct line *line) {
    struct begun begun = begin_event(p, TYPE_INSTANT, thread_track(p, line->stream), line->ns);
    proto_text(&p->packet, EVENT_NAME, "events lost");
    annotate(p, COUNT, ANNOTATION_UINT, line->lost);
    end_event(p, begun);
}

static void write_instant(struct perfetto *p, uint64_t track, uint64_t ns, const char *name) {
    struct begun begun = begin_event(p, TYPE_INSTANT, track, ns);
    proto_text(&p->packet, EVENT_NAME, name);
    end_event(p, begun);
}

/* IN_CALL: a pause in a blocking system call, which is part of durations. */
static void write_span(struct perfetto *p, uint64_t track, const uint64_t ns[2], const char *name,
                       bool in_call) {
    struct begun begun = begin_event(p, TYPE_SLICE_BEGIN, track, ns[0]);
    proto_text(&p->packet, EVENT_NAME, name);
    if (in_call)
        annotate(p, IN_CALL, ANNOTATION_BOOL, 1);
    end_event(p, begun);
    end_event(p, begin_event(p, TYPE_SLICE_END, track, ns[1]));
}

static void write_pause(struct perfetto *p, const struct line *line) {
    AUTO_FREE char *name = mem_printf("spoor: %s", pause_cause(line->cause));
    write_span(p, pause_track(p, line->stream),
               (uint64_t[]){line->ns - line->duration_ns, line->ns}, name, line->in_call);
}

/* Changes without a pid concern all processes. */
static void write_change(struct perfetto *p, const struct change *change) {
    AUTO_FREE char *text = changed_text(change), *name = mem_printf("spoor: %s", text);
    if (!change->pid && !p->everywhere)
        p->everywhere = describe(p, &(struct description){.name = "all processes"});
    uint64_t track = change->pid ? process_track(p, change->pid) : p->everywhere;
    if (change->kind == TRACE_PAUSED)
        write_span(p, track, (uint64_t[]){change->ns, change->end_ns}, name, false);
    else
        write_instant(p, track, change->ns, name);
}

static void write_line(struct perfetto *p, const struct line *line) {
    switch (line->kind) {
    case LINE_ENTRY:
        write_entry(p, line, TYPE_SLICE_BEGIN);
        break;
    case LINE_EXIT:
        write_exit(p, line);
        break;
    case LINE_LOST:
        write_lost(p, line);
        break;
    case LINE_PAUSE:
        write_pause(p, line);
        break;
    case LINE_CHANGE:
        write_change(p, line->change);
        break;
    case LINE_MARK:
        write_entry(p, line, TYPE_INSTANT);
        break;
    case LINE_LEAF: /* only with folded leaves */
        break;
    }
}

/* ---- all of it ---- */

static void init(struct perfetto *p, const struct source *source) {
    size_t streams = trace_reader_stream_count(source->reader);
    p->reader = source->reader;
    p->names = source->names;
    p->functions = mem_alloc(names_count(p->names));
    p->modules = mem_alloc(names_module_count(p->names));
    p->threads = mem_alloc((streams + 1) * sizeof *p->threads);
    p->pauses = mem_alloc((streams + 1) * sizeof *p->pauses);
    export_stacks_init(&p->stacks, p->reader, source->stream_groups);
}

static void done(struct perfetto *p) {
    export_stacks_done(&p->stacks);
    free(p->pauses);
    free(p->threads);
    free(p->modules);
    free(p->functions);
    ARRAY_FREE(&p->processes);
    proto_done(&p->packet);
}

void export_perfetto(const struct view *view, struct out *out) {
    struct perfetto p = {.view = view, .out = out};
    init(&p, &view->source);
    p.values = view->hides_values ? NULL : call_values_new(p.reader, p.names);
    write_head(&p);
    struct lines *lines = lines_new(&view->source, false);
    lines_want_marks(lines);
    for (const struct line *line; !out->error && (line = lines_next(lines));)
        write_line(&p, line);
    lines_free(lines);
    call_values_free(p.values);
    done(&p);
}

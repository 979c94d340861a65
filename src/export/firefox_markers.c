/* See firefox_markers.h. Data of markers are texts in JSON, which are written as they were put by.
 */
#include "export/firefox_markers.h"

#include <string.h>

#include "base/mem.h"
#include "cmd/change_texts.h"
#include "cmd/json.h"
#include "export/call_texts.h"
#include "export/spool.h"

#define NO_END UINT64_MAX

struct columns { /* of a stream's markers */
    struct spool_list names, starts, ends, data;
    uint64_t count;
    uint64_t paused_ns; /* by the last pause */
};

struct markers {
    const struct view *view;
    struct out *out;
    struct spool spool;
    struct columns *streams;
    size_t stream_count;
    struct call_texts *texts;   /* NULL: without values */
    struct call_values *values; /* of marks; NULL: the same */
};

/* marker-schema of profiler.firefox.com (docs-developer/markers.md there). */
const char markers_schema[] =
    "[{\"name\":\"spoor-call\",\"display\":[\"marker-chart\",\"marker-table\"],"
    "\"tooltipLabel\":\"{marker.name}({marker.data.arguments})\","
    "\"tableLabel\":\"{marker.data.arguments}\",\"data\":["
    "{\"key\":\"arguments\",\"label\":\"Arguments\",\"format\":\"string\",\"searchable\":true},"
    "{\"key\":\"result\",\"label\":\"Result\",\"format\":\"string\",\"searchable\":true}]},"
    "{\"name\":\"spoor-mark\",\"display\":[\"marker-chart\",\"marker-table\"],"
    "\"tooltipLabel\":\"{marker.name}({marker.data.arguments})\","
    "\"tableLabel\":\"{marker.data.arguments}\",\"data\":["
    "{\"key\":\"arguments\",\"label\":\"Arguments\",\"format\":\"string\",\"searchable\":true}]},"
    "{\"name\":\"spoor-note\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"]"
    ","
    "\"tableLabel\":\"{marker.data.text}\",\"data\":["
    "{\"key\":\"text\",\"label\":\"What\",\"format\":\"string\"}]}]";

/* ---- reading ---- */

/* Chunks are full of bytes, whatever their length. */
static void put_bytes(struct markers *m, struct spool_list *list, const char *bytes, size_t size) {
    while (size) {
        size_t room = list->used < SPOOL_CHUNK ? SPOOL_CHUNK - list->used : SPOOL_CHUNK;
        size_t n = size < room ? size : room;
        spool_add(&m->spool, list, bytes, n);
        bytes += n;
        size -= n;
    }
}

struct marker {
    uint32_t stream, name;
    uint64_t start_ns, end_ns; /* or NO_END */
};

/* DATA: the members of an object. */
static void put(struct markers *m, const struct marker *marker, const char *data) {
    struct columns *c = &m->streams[marker->stream];
    AUTO_FREE char *object = mem_printf("%s{%s}", c->count ? ",\n" : "", data);
    spool_add(&m->spool, &c->names, &marker->name, sizeof marker->name);
    spool_add(&m->spool, &c->starts, &marker->start_ns, sizeof marker->start_ns);
    spool_add(&m->spool, &c->ends, &marker->end_ns, sizeof marker->end_ns);
    put_bytes(m, &c->data, object, strlen(object));
    c->count++;
    if (m->spool.error && !m->out->error)
        m->out->error = m->spool.error;
}

static uint64_t without(uint64_t ns, uint64_t paused_ns) {
    return ns > paused_ns ? ns - paused_ns : 0;
}

/* ",\"NAME\":\"…\"", or "" for a text that is empty. To be freed. */
static char *member(const char *name, const struct words *text) {
    if (!text->count)
        return mem_strdup("");
    AUTO_FREE char *whole = mem_printf("%.*s", (int)text->count, text->at);
    AUTO_FREE char *quoted = json_string(whole);
    return mem_printf(",\"%s\":%s", name, quoted);
}

static void on_mark(void *ctx, const struct walk_mark *mark) {
    struct markers *m = ctx;
    const struct shown_call place = shown_walk_mark(mark);
    struct words text = {0};
    if (m->values)
        shown_arguments(m->values, &place, &text);
    AUTO_FREE char *arguments = member("arguments", &text);
    AUTO_FREE char *data = mem_printf("\"type\":\"spoor-mark\"%s", arguments);
    uint64_t ns = without(mark->ns, mark->thread_paused_ns);
    put(m, &(struct marker){mark->stream, mark->function, ns, NO_END}, data);
    words_done(&text);
}

static void on_lost(void *ctx, uint32_t stream, uint64_t ns, uint64_t count) {
    struct markers *m = ctx;
    AUTO_FREE char *data = mem_printf("\"type\":\"spoor-note\",\"text\":\"%ju event%s\"", count,
                                      count == 1 ? "" : "s");
    ns = without(ns, m->streams[stream].paused_ns);
    put(m, &(struct marker){stream, MARKER_LOST, ns, NO_END}, data);
}

/* A pause takes no time here, unless calls contain it. */
static void on_pause(void *ctx, const struct walk_pause *pause) {
    struct markers *m = ctx;
    struct columns *c = &m->streams[pause->stream];
    AUTO_FREE char *data = mem_printf("\"type\":\"spoor-note\",\"text\":\"%s, %ju ns\"",
                                      pause_cause(pause->cause), pause->length_ns);
    uint64_t start = without(pause->end_ns - pause->length_ns, pause->thread_paused_ns);
    uint64_t end = pause->in_call ? start + pause->length_ns : NO_END;
    put(m, &(struct marker){pause->stream, MARKER_PAUSE, start, end}, data);
    c->paused_ns = pause->thread_paused_ns + (pause->in_call ? 0 : pause->length_ns);
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    return call_texts_begin(((struct markers *)ctx)->texts, call);
}

static void put_call(struct markers *m, const struct walk_call *call) {
    const struct words *arguments = call_texts_arguments(m->texts, call->value);
    const struct words *result = call_texts_result(m->texts, call->value);
    if (!arguments->count && !result->count)
        return;
    AUTO_FREE char *given = member("arguments", arguments), *ret = member("result", result);
    AUTO_FREE char *data = mem_printf("\"type\":\"spoor-call\"%s%s", given, ret);
    uint64_t start = without(call->start_ns, call->thread_paused_ns);
    put(m, &(struct marker){call->stream, call->function, start, start + call->duration_ns}, data);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct markers *m = ctx;
    if (!call->brief) {
        call_texts_end(m->texts, call->value, call);
        put_call(m, call);
    }
    call_texts_forget(m->texts, call->value);
}

static void write_value(struct call_values *v, const struct shown_call *call, bool is_result,
                        struct words *ret) {
    if (is_result)
        shown_result(v, call, ret);
    else
        shown_arguments(v, call, ret);
}

struct markers *markers_read(const struct view *view, struct out *out) {
    struct markers *m = mem_alloc(sizeof *m);
    struct visitor visitor = {
        .ctx = m, .no_self = true, .lost = on_lost, .pause = on_pause, .mark = on_mark};
    *m = (struct markers){.view = view, .out = out};
    spool_init(&m->spool);
    m->stream_count = trace_reader_stream_count(view->source.reader);
    m->streams = mem_alloc(m->stream_count * sizeof *m->streams + 1);
    m->texts = call_texts_new(view, write_value);
    m->values = m->texts ? call_values_new(view->source.reader, view->source.names) : NULL;
    visitor.open = m->texts ? on_open : NULL;
    visitor.close = m->texts ? on_close : NULL;
    export_walk(view, &visitor, NULL, out);
    return m;
}

void markers_free(struct markers *m) {
    for (size_t i = 0; i < m->stream_count; i++) {
        spool_list_done(&m->streams[i].names);
        spool_list_done(&m->streams[i].starts);
        spool_list_done(&m->streams[i].ends);
        spool_list_done(&m->streams[i].data);
    }
    spool_done(&m->spool);
    call_texts_free(m->texts);
    call_values_free(m->values);
    free(m->streams);
    free(m);
}

uint64_t markers_count(const struct markers *m, uint32_t stream) {
    return m->streams[stream].count;
}

/* ---- writing ---- */

struct writing {
    struct markers *markers;
    uint64_t written;
    size_t (*number)(void *ctx, uint32_t name);
    void *ctx;
    bool as_phase;
};

const char *marker_name(const struct markers *m, uint32_t name) {
    return name == MARKER_LOST    ? "events lost"
           : name == MARKER_PAUSE ? "pause of the recording"
                                  : names_function(m->view->source.names, name);
}

static void begin_value(struct writing *w) {
    if (w->written++)
        out_char(w->markers->out, ',');
}

static void write_names(void *ctx, const void *bytes, size_t size) {
    struct writing *w = ctx;
    for (size_t i = 0; i < size / sizeof(uint32_t); i++) {
        begin_value(w);
        out_number(w->markers->out, w->number(w->ctx, ((const uint32_t *)bytes)[i]));
    }
}

/* Times, or phases: 0 of an instant, 1 of an interval. */
static void write_times(void *ctx, const void *bytes, size_t size) {
    struct writing *w = ctx;
    for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
        uint64_t ns = ((const uint64_t *)bytes)[i];
        begin_value(w);
        if (w->as_phase)
            out_char(w->markers->out, ns == NO_END ? '0' : '1');
        else if (ns == NO_END)
            out_words(w->markers->out, "null");
        else
            out_millis(w->markers->out, ns);
    }
}

static void write_data(void *ctx, const void *bytes, size_t size) {
    out_text(((struct writing *)ctx)->markers->out, bytes, size);
}

static void write_column(struct writing *w, const char *name, const struct spool_list *list,
                         void (*on)(void *ctx, const void *bytes, size_t size)) {
    struct out *out = w->markers->out;
    out_words(out, "\"");
    out_text(out, name, strlen(name));
    out_words(out, "\":[");
    w->written = 0;
    if (!spool_read(&w->markers->spool, list, on, w) && !out->error)
        out->error = w->markers->spool.error;
    out_words(out, "],\n");
}

void markers_write(struct markers *m, uint32_t stream, size_t (*number)(void *ctx, uint32_t name),
                   void *ctx) {
    const struct columns *c = &m->streams[stream];
    struct writing w = {.markers = m, .number = number, .ctx = ctx};
    out_words(m->out, "\"markers\":{");
    write_column(&w, "data", &c->data, write_data);
    write_column(&w, "name", &c->names, write_names);
    write_column(&w, "startTime", &c->starts, write_times);
    write_column(&w, "endTime", &c->ends, write_times);
    w.as_phase = true;
    write_column(&w, "phase", &c->ends, write_times);
    out_words(m->out, "\"category\":[");
    for (uint64_t i = 0; i < c->count; i++)
        out_text(m->out, i ? ",0" : "0", i ? 2 : 1);
    out_words(m->out, "],\"length\":");
    out_number(m->out, c->count);
    out_words(m->out, "}");
}

/*
 * One row for each call, in the order of the ends of the calls of each thread: a Parquet file, for
 * DuckDB, ClickHouse, Spark. Calls are numbered as they begin, so that a caller's number is known
 * before its callees end.
 */
#include "analyze/processes.h"
#include "base/mem.h"
#include "export/call_texts.h"
#include "export/parquet_file.h"

enum column {
    HOST,
    PROCESS,
    PID,
    THREAD,
    TID,
    START,
    DURATION,
    SELF,
    PAUSED,
    DEPTH,
    ID,
    PARENT,
    FUNCTION,
    MODULE,
    SOURCE,
    LINE,
    ENDED,
    BEFORE,
    CLIPPED,
    COLUMN_COUNT, /* without values */
    ARGUMENTS = COLUMN_COUNT,
    RESULT,
    COLUMNS_WITH_VALUES
};

struct place { /* of a function in the sources */
    bool known;
    uint32_t file, line; /* file 0: none */
};

struct open_call {
    uint64_t id;
    uint32_t next_free, texts;
};

struct table {
    const struct view *view;
    struct parquet *parquet;
    uint64_t started_ns; /* of the trace, since 1970 */
    uint64_t last_id;
    struct place *places;      /* by function */
    ARRAY(const char *) files; /* entry 0 is none */
    uint32_t *processes;       /* 1 + the process, by stream; 0: not known yet */
    ARRAY(struct open_call) open;
    uint32_t free;            /* the first of OPEN in no use; WALK_NONE: none */
    struct call_texts *texts; /* NULL: there are no values */
    bool has_values;          /* columns for them */
};

/* ---- texts ---- */

static const char *host_text(void *ctx, uint32_t value) {
    (void)value;
    return ((struct table *)ctx)->view->host;
}

/* The last value stands for an unknown process. */
static const char *process_text(void *ctx, uint32_t value) {
    const struct trace_reader *r = ((struct table *)ctx)->view->source.reader;
    return process_name(r, value < trace_reader_process_count(r) ? value : PROCESS_NONE);
}

static const char *thread_text(void *ctx, uint32_t value) {
    return trace_reader_thread(((struct table *)ctx)->view->source.reader, value)->name;
}

static const char *function_text(void *ctx, uint32_t value) {
    return names_function(((struct table *)ctx)->view->source.names, value);
}

static const char *module_text(void *ctx, uint32_t value) {
    return names_module_name(((struct table *)ctx)->view->source.names, value);
}

static const char *file_text(void *ctx, uint32_t value) {
    return ((struct table *)ctx)->files.at[value];
}

static const char *ended_text(void *ctx, uint32_t value) {
    static const char *const texts[] = {"returned", "tail", "unwound", "open", "cut", "inferred"};
    (void)ctx;
    return texts[value];
}

enum ended { ENDED_RETURNED, ENDED_TAIL, ENDED_UNWOUND, ENDED_OPEN, ENDED_CUT, ENDED_INFERRED };

static enum ended ended_of(const struct walk_call *call) {
    static const enum ended ends[] = {[CALL_RETURNED] = ENDED_RETURNED,
                                      [CALL_TAIL] = ENDED_TAIL,
                                      [CALL_UNWOUND] = ENDED_UNWOUND,
                                      [CALL_MISSED] = ENDED_UNWOUND,
                                      [CALL_THREAD_ENDED] = ENDED_OPEN,
                                      [CALL_OPEN] = ENDED_OPEN,
                                      [CALL_CUT] = ENDED_CUT};
    return call->inferred ? ENDED_INFERRED : ends[call->how];
}

/* ---- where functions begin ---- */

static uint32_t file_number(struct table *t, const char *file) {
    for (size_t i = 1; i < t->files.count; i++)
        if (t->files.at[i] == file || strcmp(t->files.at[i], file) == 0)
            return (uint32_t)i;
    ARRAY_PUSH(&t->files, file);
    return (uint32_t)t->files.count - 1;
}

static const struct place *place_of(struct table *t, uint32_t function) {
    struct place *place = &t->places[function];
    if (!place->known) {
        struct source_line line = names_source(t->view->source.names, function);
        *place = (struct place){true, line.file ? file_number(t, line.file) : 0, line.line};
    }
    return place;
}

static void set_place(struct table *t, uint32_t function) {
    const struct place *place = place_of(t, function);
    if (place->file) {
        parquet_set(t->parquet, SOURCE, place->file);
        parquet_set(t->parquet, LINE, place->line);
    } else {
        parquet_set_null(t->parquet, SOURCE);
        parquet_set_null(t->parquet, LINE);
    }
}

/* ---- calls ---- */

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct table *t = ctx;
    uint32_t number = t->free;
    if (number == WALK_NONE) {
        number = (uint32_t)t->open.count;
        ARRAY_PUSH(&t->open, (struct open_call){0});
    } else {
        t->free = t->open.at[number].next_free;
    }
    t->open.at[number].id = ++t->last_id;
    t->open.at[number].texts = call_texts_begin(t->texts, call);
    return number;
}

static void set_thread(struct table *t, uint32_t stream) {
    const struct trace_reader *r = t->view->source.reader;
    const struct trace_thread *thread = trace_reader_thread(r, stream);
    if (!t->processes[stream]) {
        uint32_t process = process_of(r, stream);
        process = process == PROCESS_NONE ? (uint32_t)trace_reader_process_count(r) : process;
        t->processes[stream] = process + 1;
    }
    if (t->view->host)
        parquet_set(t->parquet, HOST, 0);
    else
        parquet_set_null(t->parquet, HOST);
    parquet_set(t->parquet, PROCESS, t->processes[stream] - 1);
    parquet_set(t->parquet, PID, thread->pid);
    parquet_set(t->parquet, THREAD, stream);
    parquet_set(t->parquet, TID, thread->tid);
}

static void set_times(struct table *t, const struct walk_call *call) {
    parquet_set(t->parquet, START, t->started_ns + call->start_ns);
    parquet_set(t->parquet, DURATION, call->duration_ns);
    parquet_set(t->parquet, SELF, call->self_ns);
    parquet_set(t->parquet, PAUSED, call->paused_ns);
}

static void set_value(struct table *t, enum column column, const struct words *text) {
    if (!text || !text->count) {
        parquet_set_null(t->parquet, column);
        return;
    }
    AUTO_FREE char *whole = mem_printf("%.*s", (int)text->count, text->at);
    parquet_set_text(t->parquet, column, whole);
}

static void set_values(struct table *t, const struct walk_call *call) {
    uint32_t number = t->open.at[call->value].texts;
    call_texts_end(t->texts, number, call);
    set_value(t, ARGUMENTS, t->texts ? call_texts_arguments(t->texts, number) : NULL);
    set_value(t, RESULT, t->texts ? call_texts_result(t->texts, number) : NULL);
}

static void write_row(struct table *t, const struct walk_call *call) {
    struct names *names = t->view->source.names;
    set_thread(t, call->stream);
    set_times(t, call);
    parquet_set(t->parquet, DEPTH, call->depth);
    parquet_set(t->parquet, ID, t->open.at[call->value].id);
    if (call->caller_value == WALK_NONE)
        parquet_set_null(t->parquet, PARENT);
    else
        parquet_set(t->parquet, PARENT, t->open.at[call->caller_value].id);
    parquet_set(t->parquet, FUNCTION, call->function);
    parquet_set(t->parquet, MODULE, names_module(names, call->function));
    set_place(t, call->function);
    parquet_set(t->parquet, ENDED, ended_of(call));
    parquet_set(t->parquet, BEFORE, call->before);
    parquet_set(t->parquet, CLIPPED, call->clipped);
    if (t->has_values)
        set_values(t, call);
    parquet_end_row(t->parquet);
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct table *t = ctx;
    if (!call->brief)
        write_row(t, call);
    call_texts_forget(t->texts, t->open.at[call->value].texts);
    t->open.at[call->value].next_free = t->free;
    t->free = call->value;
}

/* The columns; COUNTS of texts are those of T's trace. */
static void describe(const struct table *t, struct parquet_column columns[COLUMNS_WITH_VALUES]) {
    const struct trace_reader *r = t->view->source.reader;
    struct names *names = t->view->source.names;
    uint32_t functions = names_count(names);
    const struct parquet_column list[COLUMNS_WITH_VALUES] = {
        [HOST] = {"host", PARQUET_TEXT, true, host_text, 1},
        [PROCESS] = {"process", PARQUET_TEXT, false, process_text,
                     (uint32_t)trace_reader_process_count(r) + 1},
        [PID] = {"pid", PARQUET_NUMBER, false, NULL, 0},
        [THREAD] = {"thread", PARQUET_TEXT, false, thread_text,
                    (uint32_t)trace_reader_stream_count(r)},
        [TID] = {"tid", PARQUET_NUMBER, false, NULL, 0},
        [START] = {"start_ns", PARQUET_NUMBER, false, NULL, 0},
        [DURATION] = {"duration_ns", PARQUET_NUMBER, false, NULL, 0},
        [SELF] = {"self_ns", PARQUET_NUMBER, false, NULL, 0},
        [PAUSED] = {"paused_ns", PARQUET_NUMBER, false, NULL, 0},
        [DEPTH] = {"depth", PARQUET_NUMBER, false, NULL, 0},
        [ID] = {"id", PARQUET_NUMBER, false, NULL, 0},
        [PARENT] = {"parent_id", PARQUET_NUMBER, true, NULL, 0},
        [FUNCTION] = {"function", PARQUET_TEXT, false, function_text, functions},
        [MODULE] = {"module", PARQUET_TEXT, false, module_text, names_module_count(names)},
        [SOURCE] = {"file", PARQUET_TEXT, true, file_text, functions + 1},
        [LINE] = {"line", PARQUET_NUMBER, true, NULL, 0},
        [ENDED] = {"ended", PARQUET_TEXT, false, ended_text, ENDED_INFERRED + 1},
        [BEFORE] = {"before", PARQUET_BOOL, false, NULL, 0},
        [CLIPPED] = {"clipped", PARQUET_BOOL, false, NULL, 0},
        [ARGUMENTS] = {"args", PARQUET_PLAIN, true, NULL, 0},
        [RESULT] = {"ret", PARQUET_PLAIN, true, NULL, 0},
    };
    memcpy(columns, list, sizeof list);
}

void export_parquet(const struct view *view, struct out *out) {
    const struct trace_reader *r = view->source.reader;
    struct table t = {.view = view, .free = WALK_NONE};
    struct visitor visitor = {.ctx = &t, .open = on_open, .close = on_close};
    struct parquet_column columns[COLUMNS_WITH_VALUES];
    t.started_ns = trace_reader_session(r)->start_unix_ns;
    t.places = mem_alloc(names_count(view->source.names) * sizeof *t.places);
    t.processes = mem_alloc((trace_reader_stream_count(r) + 1) * sizeof *t.processes);
    ARRAY_PUSH(&t.files, NULL);
    describe(&t, columns);
    t.has_values = !view->hides_values;
    t.texts = call_texts_new(view, shown_values_object);
    t.parquet = parquet_new(out, columns, t.has_values ? COLUMNS_WITH_VALUES : COLUMN_COUNT, &t);
    export_walk(view, &visitor, NULL, out);
    AUTO_FREE char *started = mem_printf("%ju", t.started_ns);
    parquet_finish(t.parquet, "spoor.start_unix_ns", started);
    call_texts_free(t.texts);
    free(t.places);
    free(t.processes);
    ARRAY_FREE(&t.files);
    ARRAY_FREE(&t.open);
}

/*
 * The processed profile format of profiler.firefox.com, version 48 (docs-developer/
 * CHANGELOG-formats.md there): newer ones of its readers upgrade it.
 *
 * It is made for samples. Here each time between two events of a track (tracks.h) is a sample: its
 * stack is the calls that are open, its weight the time in milliseconds ("tracing-ms"). So the
 * weights of a function sum up to its self time, to the nanosecond: nothing is estimated. Times
 * without a call are samples without stack and weight. The format has no place for numbers of
 * calls.
 *
 * Samples are columns. A track is read once for each.
 */
#include <string.h>

#include "analyze/tree.h"
#include "base/mem.h"
#include "cmd/json.h"
#include "export/firefox_markers.h"
#include "export/tracks.h"

enum column { COLUMN_STACK, COLUMN_TIME, COLUMN_WEIGHT };

struct firefox {
    const struct view *view;
    struct out *out;
    bool any; /* a thread was written */
    struct markers *markers;
    uint8_t *has_markers; /* by stream: 1 if they were written */
    /* Of the present track: */
    struct tree stacks;     /* of frames; stack i is node i + 1 */
    ARRAY(uint32_t) path;   /* nodes of the open calls */
    uint32_t *numbers;      /* 1 + its place in `frames`, by frame; 0: it has none yet */
    ARRAY(uint32_t) frames; /* functions of the file */
    uint32_t *resources;    /* the same by module */
    ARRAY(uint32_t) modules;
    uint32_t *marker_numbers; /* the same by the names of markers that are no such function */
    ARRAY(uint32_t) marker_names;
    enum column column;
    uint64_t last_ns, samples;
};

static void write_string(struct out *out, const char *text) {
    AUTO_FREE char *quoted = json_string(text);
    out_text(out, quoted, strlen(quoted));
}

/* ---- samples ---- */

static void write_sample(struct firefox *f, uint64_t ns, uint64_t length) {
    bool idle = !f->path.count;
    if (f->samples++)
        out_char(f->out, ',');
    if (f->column == COLUMN_TIME)
        out_millis(f->out, ns);
    else if (f->column == COLUMN_WEIGHT)
        out_millis(f->out, idle ? 0 : length);
    else if (idle)
        out_words(f->out, "null");
    else
        out_number(f->out, f->path.at[f->path.count - 1] - 1);
}

static void on_event(void *ctx, uint64_t ns, uint32_t frame) {
    struct firefox *f = ctx;
    if (ns > f->last_ns)
        write_sample(f, f->last_ns, ns - f->last_ns);
    f->last_ns = ns;
    if (frame == TRACK_END) {
        f->path.count--;
        return;
    }
    uint32_t caller = f->path.count ? f->path.at[f->path.count - 1] : 0;
    ARRAY_PUSH(&f->path, tree_child(&f->stacks, caller, frame));
}

static void write_column(struct firefox *f, const struct track *track, enum column column) {
    static const char *const heads[] = {"\"stack\":[", "],\n\"time\":[", "],\n\"weight\":["};
    f->column = column;
    f->samples = 0;
    f->last_ns = track->first_ns;
    out_text(f->out, heads[column], strlen(heads[column]));
    if (!track->tracks) /* it has no calls */
        return;
    track_each(track, on_event, f);
    write_sample(f, f->last_ns, 0); /* the end of the last one */
}

/* ---- tables ---- */

/* Writes "name":[…], with VALUE of each I of COUNT. */
static void write_list(struct firefox *f, const char *name, size_t count,
                       void (*value)(struct firefox *f, size_t i)) {
    out_words(f->out, "\"");
    out_text(f->out, name, strlen(name));
    out_words(f->out, "\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            out_char(f->out, ',');
        value(f, i);
    }
    out_words(f->out, "],");
}

static void write_length(struct firefox *f, size_t count) {
    out_words(f->out, "\"length\":");
    out_number(f->out, count);
    out_words(f->out, "}");
}

static void zero(struct firefox *f, size_t i) {
    (void)i;
    out_char(f->out, '0');
}
static void none(struct firefox *f, size_t i) {
    (void)i;
    out_words(f->out, "null");
}
static void minus_one(struct firefox *f, size_t i) {
    (void)i;
    out_words(f->out, "-1");
}
static void one(struct firefox *f, size_t i) {
    (void)i;
    out_char(f->out, '1');
}
static void no(struct firefox *f, size_t i) {
    (void)i;
    out_words(f->out, "false");
}
static void itself(struct firefox *f, size_t i) { out_number(f->out, i); }

static void stack_frame(struct firefox *f, size_t i) {
    out_number(f->out, f->numbers[f->stacks.nodes[i + 1].function] - 1);
}

static void stack_prefix(struct firefox *f, size_t i) {
    uint32_t parent = f->stacks.nodes[i + 1].parent;
    if (parent)
        out_number(f->out, parent - 1);
    else
        none(f, i);
}

/* UINT32_MAX: none. */
static uint32_t module_of(const struct firefox *f, size_t i) {
    uint32_t function = track_function(f->view, f->frames.at[i]);
    return function == UINT32_MAX ? UINT32_MAX : names_module(f->view->source.names, function);
}

static void function_resource(struct firefox *f, size_t i) {
    uint32_t module = module_of(f, i);
    if (module == UINT32_MAX)
        minus_one(f, i);
    else
        out_number(f->out, f->resources[module] - 1);
}

static void resource_lib(struct firefox *f, size_t i) { out_number(f->out, f->modules.at[i]); }
static void resource_name(struct firefox *f, size_t i) { out_number(f->out, f->frames.count + i); }

/* How many functions a marker may name; further names are those of markers. */
static uint32_t function_count(const struct firefox *f) { return track_frames(f->view) / 2; }

/* Where marker_numbers[] has a marker's name. */
static size_t marker_slot(const struct firefox *f, uint32_t name) {
    return name < function_count(f) ? name : function_count(f) + (UINT32_MAX - name);
}

/* The number of a marker's name among the strings. */
static size_t marker_number(void *ctx, uint32_t name) {
    struct firefox *f = ctx;
    size_t slot = marker_slot(f, name);
    if (name < function_count(f) && f->numbers[track_frame(name)])
        return f->numbers[track_frame(name)] - 1;
    if (!f->marker_numbers[slot]) {
        ARRAY_PUSH(&f->marker_names, name);
        f->marker_numbers[slot] = (uint32_t)f->marker_names.count;
    }
    return f->frames.count + f->modules.count + f->marker_numbers[slot] - 1;
}

/* Those of frames, then those of modules, then those of markers. */
static void table_string(struct firefox *f, size_t i) {
    const size_t modules_end = f->frames.count + f->modules.count;
    struct names *names = f->view->source.names;
    if (i >= modules_end) {
        write_string(f->out, marker_name(f->markers, f->marker_names.at[i - modules_end]));
        return;
    }
    if (i >= f->frames.count) {
        write_string(f->out, names_module_name(names, f->modules.at[i - f->frames.count]));
        return;
    }
    AUTO_FREE char *name = track_frame_name(f->view, f->frames.at[i]);
    write_string(f->out, name);
}

/* Numbers the frames and modules of the track's stacks. */
static void number_frames(struct firefox *f) {
    for (uint32_t node = 1; node < f->stacks.count; node++) {
        uint32_t frame = f->stacks.nodes[node].function;
        if (f->numbers[frame])
            continue;
        ARRAY_PUSH(&f->frames, frame);
        f->numbers[frame] = (uint32_t)f->frames.count;
        uint32_t module = module_of(f, f->frames.count - 1);
        if (module == UINT32_MAX || f->resources[module])
            continue;
        ARRAY_PUSH(&f->modules, module);
        f->resources[module] = (uint32_t)f->modules.count;
    }
}

static void forget_frames(struct firefox *f) {
    for (size_t i = 0; i < f->frames.count; i++)
        f->numbers[f->frames.at[i]] = 0;
    for (size_t i = 0; i < f->modules.count; i++)
        f->resources[f->modules.at[i]] = 0;
    for (size_t i = 0; i < f->marker_names.count; i++)
        f->marker_numbers[marker_slot(f, f->marker_names.at[i])] = 0;
    f->frames.count = f->modules.count = f->marker_names.count = 0;
    tree_clear(&f->stacks);
}

static void write_stacks(struct firefox *f) {
    size_t stacks = f->stacks.count - 1, functions = f->frames.count;
    out_words(f->out, ",\n\"stackTable\":{");
    write_list(f, "frame", stacks, stack_frame);
    write_list(f, "prefix", stacks, stack_prefix);
    write_list(f, "category", stacks, zero);
    write_list(f, "subcategory", stacks, zero);
    write_length(f, stacks);
    out_words(f->out, ",\n\"frameTable\":{");
    write_list(f, "func", functions, itself);
    write_list(f, "address", functions, minus_one);
    write_list(f, "inlineDepth", functions, zero);
    static const char *const empty[] = {"category",      "subcategory",    "nativeSymbol",
                                        "innerWindowID", "implementation", "line",
                                        "column"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        write_list(f, empty[i], functions, none);
    write_length(f, functions);
}

static void write_functions(struct firefox *f) {
    size_t functions = f->frames.count, modules = f->modules.count;
    out_words(f->out, ",\n\"funcTable\":{");
    write_list(f, "name", functions, itself);
    write_list(f, "resource", functions, function_resource);
    write_list(f, "isJS", functions, no);
    write_list(f, "relevantForJS", functions, no);
    write_list(f, "fileName", functions, none);
    write_list(f, "lineNumber", functions, none);
    write_list(f, "columnNumber", functions, none);
    write_length(f, functions);
    out_words(f->out, ",\n\"resourceTable\":{");
    write_list(f, "lib", modules, resource_lib);
    write_list(f, "name", modules, resource_name);
    write_list(f, "host", modules, none);
    write_list(f, "type", modules, one); /* a library */
    write_length(f, modules);
    out_words(f->out, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
                      "\"functionSize\":[],\"length\":0},\n");
    write_list(f, "stringArray", functions + modules + f->marker_names.count, table_string);
}

/* ---- threads ---- */

static void write_thread_head(struct firefox *f, const struct track *track) {
    const struct trace_thread *t = trace_reader_thread(f->view->source.reader, track->stream);
    AUTO_FREE char *stack = track_stack(track);
    AUTO_FREE char *name = mem_printf("%s%s", t->name, stack);
    AUTO_FREE char *tid =
        track->stack ? mem_printf("\"%u.%u\"", t->tid, track->stack) : mem_printf("%u", t->tid);
    AUTO_FREE char *ids = mem_printf(",\"pid\":\"%u\",\"tid\":%s,\"isMainThread\":%s", t->pid, tid,
                                     t->tid == t->pid && !track->stack ? "true" : "false");
    if (f->any)
        out_words(f->out, ",\n");
    f->any = true;
    out_words(f->out, "{\"name\":");
    write_string(f->out, name);
    out_words(f->out, ",\"processName\":");
    write_string(f->out, export_command(f->view, track->stream));
    out_text(f->out, ids, strlen(ids));
    out_words(f->out, ",\"processType\":\"default\",\"processStartupTime\":0,"
                      "\"processShutdownTime\":null,\"registerTime\":");
    out_millis(f->out, track->first_ns);
    out_words(f->out, ",\"pausedRanges\":[],\n");
}

/* They are those of the thread, and go with its own stack. */
static void write_markers(struct firefox *f, const struct track *track) {
    if (track->stack) {
        out_words(f->out, ",\n\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],"
                          "\"phase\":[],\"category\":[],\"length\":0}");
        return;
    }
    out_words(f->out, ",\n");
    markers_write(f->markers, track->stream, marker_number, f);
    f->has_markers[track->stream] = 1;
}

static void on_track(void *ctx, const struct track *track) {
    struct firefox *f = ctx;
    write_thread_head(f, track);
    out_words(f->out, "\"samples\":{\"weightType\":\"tracing-ms\",\n");
    for (int column = COLUMN_STACK; column <= COLUMN_WEIGHT; column++)
        write_column(f, track, column);
    out_words(f->out, "],\n");
    write_length(f, f->samples);
    number_frames(f);
    write_markers(f, track);
    write_stacks(f);
    write_functions(f);
    out_words(f->out, "\"unregisterTime\":null}");
    forget_frames(f);
}

/* Threads without calls may have markers. */
static void write_rest(struct firefox *f) {
    for (uint32_t i = 0; i < trace_reader_stream_count(f->view->source.reader); i++)
        if (!f->has_markers[i] && markers_count(f->markers, i))
            on_track(f, &(struct track){.stream = i});
}

static void write_libs(struct firefox *f) {
    struct names *names = f->view->source.names;
    for (uint32_t i = 0; i < names_module_count(names); i++) {
        AUTO_FREE char *name = json_string(names_module_name(names, i));
        AUTO_FREE char *lib = mem_printf("%s{\"name\":%s,\"path\":%s,\"debugName\":%s,"
                                         "\"debugPath\":%s,\"breakpadId\":\"\",\"codeId\":null,"
                                         "\"arch\":\"\"}",
                                         i ? ",\n" : "", name, name, name, name);
        out_text(f->out, lib, strlen(lib));
    }
}

static void write_meta(struct firefox *f) {
    const struct trace_reader *r = f->view->source.reader;
    out_words(f->out, "{\"meta\":{\"version\":29,\"preprocessedProfileVersion\":48,"
                      "\"importedFrom\":\"spoor\",\"product\":");
    write_string(f->out, trace_reader_stream_count(r) ? export_command(f->view, 0) : "");
    out_words(f->out, ",\"interval\":0.001,\"startTime\":");
    out_millis(f->out, trace_reader_session(r)->start_unix_ns);
    out_words(f->out,
              ",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
              "\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
              "\"sourceCodeIsNotOnSearchfox\":true,\"categories\":[{\"name\":"
              "\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":");
    out_text(f->out, markers_schema, strlen(markers_schema));
    out_words(f->out, "},\n\"libs\":[");
    write_libs(f);
    out_words(f->out, "],\n\"threads\":[\n");
}

void export_firefox(const struct view *view, struct out *out) {
    struct firefox f = {.view = view, .out = out};
    f.numbers = mem_alloc(track_frames(view) * sizeof *f.numbers);
    f.resources = mem_alloc(names_module_count(view->source.names) * sizeof *f.resources);
    f.marker_numbers = mem_alloc((function_count(&f) + 2) * sizeof *f.marker_numbers);
    f.has_markers = mem_alloc(trace_reader_stream_count(view->source.reader) + 1);
    f.markers = markers_read(view, out);
    tree_init(&f.stacks);
    write_meta(&f);
    tracks_read(view, out, on_track, &f);
    write_rest(&f);
    markers_free(f.markers);
    out_words(out, "\n]}\n");
    tree_done(&f.stacks);
    free(f.numbers);
    free(f.resources);
    free(f.marker_numbers);
    free(f.has_markers);
    ARRAY_FREE(&f.marker_names);
    ARRAY_FREE(&f.path);
    ARRAY_FREE(&f.frames);
    ARRAY_FREE(&f.modules);
}

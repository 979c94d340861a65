/* Answers about the trace as a whole: what it is, its threads, the names of functions. */
#include <string.h>

#include "analyze/processes.h"
#include "cmd/info.h"
#include "cmd/json.h"
#include "page/answers.h"

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void text_member(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": ", name);
    if (text)
        json_print_string(out, text);
    else
        fputs("null", out);
}

static void write_command(FILE *out, const char *const *command) {
    fputs("\"command\": [", out);
    for (const char *const *arg = command; *arg; arg++) {
        fputs(arg == command ? "" : ", ", out);
        json_print_string(out, *arg);
    }
    fputs("],\n", out);
}

static void write_processes(FILE *out, const struct trace_reader *r) {
    fputs("\"processes\": [", out);
    for (size_t i = 0; i < trace_reader_process_count(r); i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        fprintf(out, "%s\n  {\"process\": %zu, \"pid\": %u, ", i ? "," : "", i, p->pid);
        text_member(out, "name", p->command);
        fputs("}", out);
    }
    fputs("],\n", out);
}

struct extent { /* of a stream's events */
    uint64_t first_ns, last_ns, events;
};

static struct extent extent_of(const struct trace_reader *r, uint32_t stream) {
    struct extent e = {0};
    size_t first = trace_reader_first_block(r, stream), end = trace_reader_end_block(r, stream);
    for (size_t i = first; i < end; i++) {
        struct trace_block_facts b = trace_reader_block(r, i);
        e.first_ns = i == first ? trace_reader_ns(r, b.first) : e.first_ns;
        e.last_ns = trace_reader_ns(r, b.last);
        e.events += b.items;
    }
    return e;
}

static void write_threads(FILE *out, struct writing *w) {
    const struct trace_reader *r = shown_reader(w->request->shown);
    const char *separator = "";
    fputs("\"threads\": [", out);
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        if (w->range.streams && !w->range.streams[i])
            continue;
        const struct trace_thread *t = trace_reader_thread(r, i);
        uint32_t process = process_of(r, i);
        struct extent e = extent_of(r, i);
        fprintf(out, "%s\n  {\"stream\": %u, \"process\": ", separator, i);
        separator = ",";
        fprintf(out, process == PROCESS_NONE ? "null" : "%u", process);
        fprintf(out, ", \"pid\": %u, \"tid\": %u, ", t->pid, t->tid);
        text_member(out, "name", t->name);
        fprintf(out, ", \"first_ns\": %ju, \"last_ns\": %ju, \"events\": %ju, \"depth\": %u}",
                e.first_ns, e.last_ns, e.events, summary_depth(w->summary, i));
    }
    fputs("]", out);
}

int answer_trace(struct writing *w, struct err *err) {
    const struct shown *other = w->request->other;
    const struct trace_reader *r = shown_reader(w->request->shown);
    const struct trace_session *s = trace_reader_session(r);
    struct trace_counts counts = trace_reader_counts(r);
    FILE *out = w->out;
    (void)err;
    fputs("{", out);
    text_member(out, "name", base_name(shown_path(w->request->shown)));
    fputs(", ", out);
    text_member(out, "path", w->request->for_others ? NULL : shown_path(w->request->shown));
    fputs(",\n", out);
    write_command(out, s->command);
    fprintf(out, "\"duration_ns\": %ju, \"start_unix_ns\": %ju, \"events\": %ju, \"lost\": %ju,\n",
            trace_reader_duration_ns(r), s->start_unix_ns, counts.entries + counts.exits,
            counts.lost);
    fprintf(out, "\"complete\": %s, ", trace_reader_complete(r) ? "true" : "false");
    text_member(out, "warning", shown_warning(w->request->shown));
    fputs(", ", out);
    text_member(out, "arch", s->arch);
    fputs(", ", out);
    text_member(out, "version", s->version);
    fputs(", ", out);
    text_member(out, "other", other ? base_name(shown_path(other)) : NULL);
    bool values = shown_has_values(w->request->shown) && !w->request->hides_values;
    fprintf(out, ", \"values\": %s,\n", values ? "true" : "false");
    write_processes(out, r);
    write_threads(out, w);
    fputs("}\n", out);
    return 0;
}

int answer_info(struct writing *w, struct err *err) {
    (void)err;
    info_json(w->out, shown_reader(w->request->shown));
    return 0;
}

/* WITH_LINE: where it begins in the source, too. The first one of a module takes long. */
static void write_function(struct writing *w, uint32_t function, bool with_line) {
    struct names *names = w->desk->view.source.names;
    struct source_line line = with_line ? names_source(names, function) : (struct source_line){0};
    fprintf(w->out, "[%u, ", function);
    json_print_string(w->out, names_function(names, function));
    fprintf(w->out, ", %u, ", names_module(names, function));
    if (line.file)
        json_print_string(w->out, line.file);
    else
        fputs("null", w->out);
    fprintf(w->out, line.file ? ", %u]" : ", null]", line.line);
}

/* CALLED: by function, whether it has calls; NULL: that is not known yet. */
static bool is_wanted(const struct writing *w, const uint8_t *called, uint32_t function) {
    const struct names *names = w->desk->view.source.names;
    if (called)
        return called[function];
    return names_instrumented(names, function) || function + 1 == names_count(names);
}

int answer_names(struct writing *w, struct err *err) {
    const struct request *r = w->request;
    struct names *names = w->desk->view.source.names;
    const uint8_t *called = r->functions ? r->functions : shown_called(r->shown);
    bool with_lines = r->parameter(r->ctx, "lines");
    const char *separator = "";
    (void)err;
    fputs("{\"modules\": [", w->out);
    for (uint32_t i = 0; i < names_module_count(names); i++) {
        fputs(i ? ", " : "", w->out);
        json_print_string(w->out, names_module_name(names, i));
    }
    fputs("],\n\"functions\": [", w->out);
    for (uint32_t i = 0; i < names_count(names); i++) {
        if (!is_wanted(w, called, i))
            continue;
        fprintf(w->out, "%s\n  ", separator);
        write_function(w, i, with_lines);
        separator = ",";
    }
    fputs("]}\n", w->out);
    return 0;
}

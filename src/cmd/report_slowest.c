/*
 * The slowest single calls. Each has the replay command that shows the call and what it called.
 * Calls whose beginning or end is not known are left out: those that were open when their tracing
 * began, or when events were lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/processes.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/json.h"
#include "cmd/report.h"

struct slow_call {
    uint32_t function, stream;
    uint32_t caller; /* a function; WALK_NONE: none is known */
    uint64_t start_ns, end_ns, duration_ns, self_ns;
    bool open;     /* it had not ended when its thread or the trace ended */
    bool inferred; /* its end is */
};

struct slowest {
    struct report_table *report;
    uint8_t *threads;              /* by stream: 1 if it has calls */
    ARRAY(struct slow_call) calls; /* a heap, the least slow first; at the end the slowest first */
};

/* < 0: A is slower. */
static int compare(const void *a, const void *b) {
    const struct slow_call *x = a, *y = b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns > y->duration_ns ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->stream != y->stream ? (x->stream > y->stream) - (x->stream < y->stream)
                                  : (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* ---- the heap ---- */

static void swap(struct slow_call *a, struct slow_call *b) {
    struct slow_call old = *a;
    *a = *b;
    *b = old;
}

static void sift_up(struct slowest *s, size_t i) {
    for (; i && compare(&s->calls.at[i], &s->calls.at[(i - 1) / 2]) > 0; i = (i - 1) / 2)
        swap(&s->calls.at[i], &s->calls.at[(i - 1) / 2]);
}

static void sift_down(struct slowest *s, size_t i) {
    for (size_t child; (child = 2 * i + 1) < s->calls.count; i = child) {
        if (child + 1 < s->calls.count && compare(&s->calls.at[child + 1], &s->calls.at[child]) > 0)
            child++;
        if (compare(&s->calls.at[child], &s->calls.at[i]) <= 0)
            break;
        swap(&s->calls.at[i], &s->calls.at[child]);
    }
}

static void offer(struct slowest *s, const struct slow_call *call) {
    if (s->calls.count < s->report->options->slowest) {
        ARRAY_PUSH(&s->calls, *call);
        sift_up(s, s->calls.count - 1);
    } else if (compare(call, &s->calls.at[0]) < 0) {
        s->calls.at[0] = *call;
        sift_down(s, 0);
    }
}

/* ---- reading ---- */

static void count_call(struct report_table *r, const struct walk_call *call) {
    r->calls++;
    r->self += call->self_ns;
    r->functions += !r->called[call->function];
    r->called[call->function] = 1;
    r->marks.inferred += call->inferred;
    r->marks.cut += call->how == CALL_CUT;
    r->marks.clipped += call->clipped;
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct slowest *s = ctx;
    struct names *names = s->report->view->source.names;
    bool known = call->caller_id != UINT32_MAX;
    if (call->brief)
        return;
    s->report->threads += !s->threads[call->stream];
    s->threads[call->stream] = 1;
    if (call->before) {
        s->report->marks.before++;
        s->report->self += call->self_ns;
        return;
    }
    count_call(s->report, call);
    struct slow_call slow = {.function = call->function,
                             .stream = call->stream,
                             .caller = known ? names_index(names, call->caller_id) : WALK_NONE,
                             .start_ns = call->start_ns,
                             .end_ns = call->end_ns,
                             .duration_ns = call->duration_ns,
                             .self_ns = call->self_ns,
                             .open = call->how == CALL_OPEN || call->how == CALL_THREAD_ENDED,
                             .inferred = call->inferred};
    if (call->how != CALL_CUT)
        offer(s, &slow);
}

/* ---- the command ---- */

/* TEXT as a word for a shell; to be freed. */
static char *quoted(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=.,:/@%";
    if (*text && !text[strspn(text, plain)])
        return mem_strdup(text);
    char *word = mem_alloc(4 * strlen(text) + 3), *at = word;
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'')
            at = stpcpy(at, "'\\''");
        else
            *at++ = *text;
    }
    *at++ = '\'';
    return word;
}

enum { WORDS = 7, INDENT = 4, HANG = 6 };

/* Its words; FUNCTION is a pattern, or NULL. Each is to be freed; NULL: it is left out. */
static void compose_command(const struct report_table *r, const struct slow_call *call,
                            const char *function, char *ret[WORDS]) {
    const struct trace_reader *reader = r->view->source.reader;
    AUTO_FREE char *pattern = function ? quoted(function) : NULL;
    ret[0] = mem_strdup("spoor replay");
    ret[1] = mem_printf("--tid=%u", trace_reader_thread(reader, call->stream)->tid);
    ret[2] = mem_printf("--since=%juns", call->start_ns);
    ret[3] = mem_printf("--until=%juns", call->end_ns);
    ret[4] = pattern ? mem_printf("-F %s", pattern) : NULL;
    ret[5] = pattern ? mem_strdup("--callees") : NULL;
    ret[6] = quoted(r->view->path);
}

static void free_words(char *words[WORDS]) {
    for (int i = 0; i < WORDS; i++)
        free(words[i]);
}

/* In a line. To be freed. */
static char *join(char *const words[WORDS]) {
    char *line = mem_strdup(words[0]);
    for (int i = 1; i < WORDS; i++) {
        if (!words[i])
            continue;
        AUTO_FREE char *before = line;
        line = mem_printf("%s %s", before, words[i]);
    }
    return line;
}

/* True if PATTERN means FUNCTION only. */
static bool is_only(struct names *names, uint32_t function, const char *pattern) {
    struct pattern *p;
    if (pattern_new(pattern, &p, NULL) < 0)
        return false;
    bool only = names_match(names, function, p);
    for (uint32_t i = 0; only && i < names_count(names); i++)
        only = i == function || !names_match(names, i, p);
    pattern_free(p);
    return only;
}

/* The name of CALL's function for the command: short if the long one does not fit, and means no
 * other function. To be freed. NULL: none fits; thread and span show the call without it. */
static char *command_name(const struct report_table *r, const struct slow_call *call) {
    enum { AROUND = HANG + sizeof "-F '' \\" - 1 };
    struct names *names = r->view->source.names;
    unsigned width = r->term.width;
    const char *full = names_function(names, call->function);
    if (!width || text_columns(full) + AROUND <= width)
        return mem_strdup(full);
    AUTO_FREE char *fitted =
        labels_fit(r->labels, call->function, width > 2 * AROUND ? width - AROUND : AROUND);
    const char *label = labels_at(r->labels, call->function);
    bool only = is_only(names, call->function, fitted);
    if (only)
        return steal(fitted);
    const bool fits =
        text_columns(label) + AROUND <= width && is_only(names, call->function, label);
    return fits ? mem_strdup(label) : NULL;
}

/* ---- output ---- */

static void print_json(const struct slowest *s, const struct slow_call *call) {
    const struct report_table *r = s->report;
    const struct trace_reader *reader = r->view->source.reader;
    const struct trace_thread *t = trace_reader_thread(reader, call->stream);
    struct names *n = r->view->source.names;
    char *words[WORDS];
    compose_command(r, call, names_function(n, call->function), words);
    AUTO_FREE char *command = join(words);
    free_words(words);
    printf("{\"function\": ");
    json_print_string(stdout, names_function(n, call->function));
    printf(", \"module\": ");
    json_print_string(stdout, names_module_name(n, names_module(n, call->function)));
    printf(", \"duration_ns\": %ju, \"self_ns\": %ju, \"t_ns\": %ju, \"pid\": %u, "
           "\"tid\": %u, \"thread\": ",
           call->duration_ns, call->self_ns, call->start_ns, t->pid, t->tid);
    json_print_string(stdout, t->name);
    printf(", \"process\": ");
    json_print_string(stdout, process_name(reader, process_of(reader, call->stream)));
    printf(", \"caller\": ");
    if (call->caller == WALK_NONE)
        printf("null");
    else
        json_print_string(stdout, names_function(n, call->caller));
    printf("%s%s, \"command\": ", call->inferred ? ", \"inferred\": true" : "",
           call->open ? ", \"open\": true" : "");
    json_print_string(stdout, command);
    printf("}");
}

/* The command, in as many lines as it needs. */
static void print_command(const struct report_table *r, const struct slow_call *call) {
    AUTO_FREE char *name = command_name(r, call);
    char *words[WORDS];
    compose_command(r, call, name, words);
    size_t column = (size_t)printf("%*s%s", INDENT, "", words[0]);
    for (int i = 1; i < WORDS; i++) {
        if (!words[i])
            continue;
        size_t columns = text_columns(words[i]), behind = i + 1 < WORDS ? sizeof " \\" - 1 : 0;
        if (r->term.width && column + 1 + columns + behind > r->term.width) {
            printf(" \\\n%*s%s", HANG, "", words[i]);
            column = HANG + columns;
        } else {
            printf(" %s", words[i]);
            column += 1 + columns;
        }
    }
    printf("\n");
    free_words(words);
}

/* "function < caller" in LEFT columns, if lines are cut; a third of them is the caller's. To be
 * freed. */
static char *names_text(const struct report_table *r, const struct slow_call *call, unsigned left) {
    const char *mark = call->inferred ? FIGURE_INFERRED " " : "";
    const char *open = call->open ? " (open)" : "";
    const char *caller = call->caller == WALK_NONE ? "?" : labels_at(r->labels, call->caller);
    size_t wanted = text_columns(caller), third = left / 3;
    size_t of_caller = wanted < third ? wanted : third;
    size_t used = text_columns(mark) + strlen(open) + strlen(" < ") + of_caller;
    AUTO_FREE char *function = labels_fit(r->labels, call->function, left > used ? left - used : 1);
    used += text_columns(function) - of_caller;
    AUTO_FREE char *shown =
        call->caller == WALK_NONE || !third
            ? mem_strdup(caller)
            : labels_fit(r->labels, call->caller, left > used ? left - used : 1);
    return mem_printf("%s%s%s < %s", mark, function, open, shown);
}

enum { THREAD_NAME = 15 };

/* False: the terminal has no room for names of threads. */
static bool shows_thread(const struct report_table *r) {
    enum { WIDE = 80 };
    return !r->term.width || r->term.width >= WIDE;
}

/* Returns the columns. */
static unsigned print_thread(const char *name) {
    AUTO_FREE char *cut = mem_printf("%.*s", THREAD_NAME, name);
    text_print(stdout, cut);
    printf("%*s", THREAD_NAME - ((int)strlen(cut) - figure_extra_bytes(cut)), "");
    return THREAD_NAME;
}

static void print_call(const struct report_table *r, const struct slow_call *call) {
    const struct trace_thread *t = trace_reader_thread(r->view->source.reader, call->stream);
    char duration[FIGURE_ROOM], self[FIGURE_ROOM], start[FIGURE_ROOM];
    figure_time_column(duration, call->duration_ns);
    figure_time_column(self, call->self_ns);
    figure_time_column(start, call->start_ns);
    unsigned used = (unsigned)printf("%8s  %8s  %8s  %7u ", duration, self, start, t->tid);
    used += shows_thread(r) ? print_thread(t->name) : 0;
    used += (unsigned)printf("%s", shows_thread(r) ? "  " : " ");
    unsigned left = r->term.width > used ? r->term.width - used : 1;
    AUTO_FREE char *shown = names_text(r, call, left);
    text_print(stdout, shown);
    printf("\n");
    print_command(r, call);
}

static void print_text(const struct slowest *s) {
    const struct report_table *r = s->report;
    bool thread = shows_thread(r);
    printf("%s%8s  %8s  %8s  %7s %-*s%sFUNCTION < CALLER%s\n", r->term.color ? "\033[1m" : "",
           "DURATION", "SELF", "START", "TID", thread ? THREAD_NAME : 0, thread ? "THREAD" : "",
           thread ? "  " : " ", r->term.color ? "\033[0m" : "");
    for (size_t i = 0; i < s->calls.count; i++)
        print_call(r, &s->calls.at[i]);
    report_print_end(r);
}

struct slowest *report_slowest_read(struct report_table *r) {
    struct slowest *s = mem_alloc(sizeof *s);
    struct visitor visitor = {.ctx = s, .close = on_close};
    s->report = r;
    s->threads = mem_alloc(trace_reader_stream_count(r->view->source.reader));
    r->called = mem_alloc(names_count(r->view->source.names));
    walk_all(&r->view->source, &visitor);
    view_end_progress(r->view);
    if (s->calls.count)
        qsort(s->calls.at, s->calls.count, sizeof *s->calls.at, compare);
    return s;
}

void report_slowest_print(struct slowest *s, bool json) {
    if (!json)
        print_text(s);
    for (size_t i = 0; json && i < s->calls.count; i++) {
        printf("%s", i ? ",\n" : "[\n");
        print_json(s, &s->calls.at[i]);
    }
    if (json)
        printf("%s]\n", s->calls.count ? "\n" : "[");
    ARRAY_FREE(&s->calls);
    free(s->threads);
    free(s);
}

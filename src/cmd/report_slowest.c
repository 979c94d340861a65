/*
 * The slowest single calls. Each has the replay command that shows the call and what it called.
 * Calls whose beginning or end is not known are left out: those that were open when their tracing
 * began, or when events were lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/processes.h"
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

/* Its two parts: the span, and what is shown in it. To be freed. */
static void compose_command(const struct report_table *r, const struct slow_call *call,
                            char **ret_span, char **ret_rest) {
    const struct source *s = &r->view->source;
    AUTO_FREE char *function = quoted(names_function(s->names, call->function));
    AUTO_FREE char *path = quoted(r->view->path);
    *ret_span =
        mem_printf("spoor replay --tid=%u --since=%juns --until=%juns",
                   trace_reader_thread(s->reader, call->stream)->tid, call->start_ns, call->end_ns);
    *ret_rest = mem_printf("-F %s --callees %s", function, path);
}

/* ---- output ---- */

static void print_json(const struct slowest *s, const struct slow_call *call) {
    const struct report_table *r = s->report;
    const struct trace_reader *reader = r->view->source.reader;
    const struct trace_thread *t = trace_reader_thread(reader, call->stream);
    struct names *n = r->view->source.names;
    AUTO_FREE char *span = NULL;
    AUTO_FREE char *rest = NULL;
    compose_command(r, call, &span, &rest);
    AUTO_FREE char *command = mem_printf("%s %s", span, rest);
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

/* The command, in two lines if it does not fit. */
static void print_command(const struct report_table *r, const struct slow_call *call) {
    enum { INDENT = 4 };
    AUTO_FREE char *span = NULL;
    AUTO_FREE char *rest = NULL;
    compose_command(r, call, &span, &rest);
    unsigned width = r->term.width;
    bool fits = !width || INDENT + strlen(span) + 1 + strlen(rest) <= width;
    printf("%*s%s%s%s\n", INDENT, "", span, fits ? " " : " \\\n      ", rest);
}

static void print_call(const struct report_table *r, const struct slow_call *call) {
    const struct trace_thread *t = trace_reader_thread(r->view->source.reader, call->stream);
    char duration[FIGURE_ROOM], self[FIGURE_ROOM], start[FIGURE_ROOM];
    figure_time(duration, call->duration_ns);
    figure_time(self, call->self_ns);
    figure_time(start, call->start_ns);
    AUTO_FREE char *text =
        mem_printf("%s%s%s < %s", call->inferred ? FIGURE_INFERRED " " : "",
                   labels_at(r->labels, call->function), call->open ? " (open)" : "",
                   call->caller == WALK_NONE ? "?" : labels_at(r->labels, call->caller));
    int used = printf("%8s  %8s  %8s  %7u ", duration, self, start, t->tid);
    enum { NAME = 15 };
    AUTO_FREE char *name = mem_printf("%.*s", NAME, t->name);
    text_print(stdout, name);
    used += (int)printf("%*s  ", NAME - ((int)strlen(name) - figure_extra_bytes(name)), "") +
            (int)strlen(name) - figure_extra_bytes(name);
    unsigned left = r->term.width > (unsigned)used ? r->term.width - (unsigned)used : 1;
    AUTO_FREE char *shown = label_cut(&r->term, text, left);
    text_print(stdout, shown);
    printf("\n");
    print_command(r, call);
}

static void print_text(const struct slowest *s) {
    const struct report_table *r = s->report;
    printf("%s%8s  %8s  %8s  %7s %-15s  FUNCTION < CALLER%s\n", r->term.color ? "\033[1m" : "",
           "DURATION", "SELF", "START", "TID", "THREAD", r->term.color ? "\033[0m" : "");
    for (size_t i = 0; i < s->calls.count; i++)
        print_call(r, &s->calls.at[i]);
    report_print_end(r);
}

struct slowest *report_slowest_read(struct report_table *r) {
    struct slowest *s = mem_alloc(sizeof *s);
    struct visitor visitor = {.ctx = s, .close = on_close};
    s->report = r;
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
    free(s);
}

/*
 * See html.h. The file is
 *
 *     <!-- what it contains -->
 *     the page's document, with its style
 *     <script type="application/json" data-path="embedded">   what was recorded
 *     <script type="application/json" data-path="/api/...">   answers, as of the server
 *     <script type="text/plain" data-path="/api/...">         binary answers in base64
 *     <script type="module">                                  the page's modules
 *
 * Boxes are those of columns so narrow that no more than BOXES_MOST are needed.
 */
#include "page/html.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/view_streams.h"
#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/figures.h"
#include "cmd/json.h"
#include "cmd/out.h"
#include "cmd/report.h"
#include "cmd/say.h"
#include "page/answers.h"
#include "page/token.h"

enum { BOXES_MOST = 280000, FILE_MOST = 20 << 20, FIRST_COLUMNS = 64, DENSITY_MOST = 250000 };
static const char MARKS_MOST[] = "20000";
static const char LEAST_PATH[] = "0.0005"; /* of all time: smaller paths are one */

struct page { /* that is written */
    struct out out;
    struct shown *shown;
    struct writing writing; /* of the range */
    struct request request;
    struct stats *stats;
    uint8_t *streams, *functions;
    char density_columns[16];
    uint64_t width_ns; /* calls that are narrower are drawn together; 0: none are */
    uint64_t bytes;
};

/* ---- parts ---- */

static void put(struct page *p, const char *text, size_t size) {
    p->bytes += size;
    out_text(&p->out, text, size);
}

static void put_string(struct page *p, const char *text) { put(p, text, strlen(text)); }

/* JSON in a script element: no '<' may begin a tag there. It stands in strings only. */
static void put_json(struct page *p, const char *json, size_t size) {
    static const char escaped[] = "\\u003c";
    for (const char *end = json + size, *next; json < end; json = next + 1) {
        next = memchr(json, '<', (size_t)(end - json));
        put(p, json, (size_t)((next ? next : end) - json));
        if (!next)
            break;
        put(p, escaped, sizeof escaped - 1);
    }
}

static void put_base64(struct page *p, const char *bytes, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *b = (const uint8_t *)bytes;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)b[i] << 16;
        bits |= i + 1 < size ? (uint32_t)b[i + 1] << 8 : 0;
        bits |= i + 2 < size ? b[i + 2] : 0;
        const char four[] = {digits[bits >> 18], digits[bits >> 12 & 63],
                             i + 1 < size ? digits[bits >> 6 & 63] : '=',
                             i + 2 < size ? digits[bits & 63] : '='};
        put(p, four, sizeof four);
    }
}

static void put_element(struct page *p, const char *path, bool binary, const char *body,
                        size_t size) {
    AUTO_FREE char *start = mem_printf("<script type=\"%s\" data-path=\"%s\">\n",
                                       binary ? "text/plain" : "application/json", path);
    put_string(p, start);
    if (binary)
        put_base64(p, body, size);
    else
        put_json(p, body, size);
    put_string(p, "\n</script>\n");
}

/* ---- answers ---- */

static const char *parameter(void *ctx, const char *name) {
    const struct page *p = ctx;
    if (strcmp(name, "columns") == 0)
        return p->density_columns;
    if (strcmp(name, "least") == 0)
        return LEAST_PATH;
    if (strcmp(name, "lines") == 0)
        return "1";
    return strcmp(name, "limit") == 0 ? MARKS_MOST : NULL;
}

/* Writes what FILL writes as the element PATH. */
static void put_filled(struct page *p, const char *path, bool binary, int (*fill)(struct page *p)) {
    char *body;
    size_t size;
    FILE *out = open_memstream(&body, &size);
    p->writing.out = out;
    fill(p);
    fclose(out);
    put_element(p, path, binary, body, size);
    free(body);
}

static int fill_trace(struct page *p) { return answer_trace(&p->writing, NULL); }
static int fill_names(struct page *p) { return answer_names(&p->writing, NULL); }
static int fill_graph(struct page *p) { return answer_graph(&p->writing, NULL); }
static int fill_marks(struct page *p) { return answer_marks(&p->writing, NULL); }
static int fill_density(struct page *p) { return answer_density(&p->writing, NULL); }

static int fill_functions(struct page *p) {
    report_json(p->writing.out, &p->writing.desk->view, p->stats, true);
    return 0;
}

static int fill_histograms(struct page *p) {
    html_write_histograms(p->writing.out, p->stats);
    return 0;
}

static int fill_calls(struct page *p) {
    html_write_calls(p->writing.out, &p->writing, p->stats);
    return 0;
}

/* ---- boxes ---- */

static size_t count_boxes(struct page *p, unsigned columns) {
    summary_span_list list = {0};
    summary_spans(p->writing.summary, &p->writing.range, columns, false, &list);
    size_t count = list.count;
    ARRAY_FREE(&list);
    return count;
}

/* The most columns, a power of two, whose boxes are not too many. */
static unsigned choose_columns(struct page *p) {
    unsigned columns = FIRST_COLUMNS;
    while (columns > 1 && count_boxes(p, columns) > BOXES_MOST)
        columns /= 2;
    while (columns < 1u << 31 && count_boxes(p, 2 * columns) <= BOXES_MOST)
        columns *= 2;
    return columns;
}

static int fill_boxes(struct page *p) {
    summary_span_list list = {0};
    uint64_t length_ns = p->writing.range.until_ns - p->writing.range.since_ns + 1;
    unsigned columns = choose_columns(p);
    for (;; columns /= 2) {
        summary_spans(p->writing.summary, &p->writing.range, columns, true, &list);
        if (list.count <= BOXES_MOST || columns == 1)
            break;
        ARRAY_FREE(&list);
    }
    for (size_t i = 0; i < list.count && !p->width_ns; i++)
        p->width_ns = list.at[i].flags & SUMMARY_DENSE ? length_ns / columns + 1 : 0;
    size_t size;
    AUTO_FREE char *body = boxes_body(&p->writing, &list, &size);
    fwrite(body, 1, size, p->writing.out);
    ARRAY_FREE(&list);
    return 0;
}

/* ---- what it contains ---- */

/* TEXT as it may stand in a comment. To be freed. */
static char *comment_text(const char *text) {
    char *safe = mem_resize(NULL, strlen(text) + 1, 2), *to = safe;
    for (const char *from = text; *from; from++) {
        if (*from == '-' && from[1] == '-') /* "--" would end it */
            *to++ = '-', *to++ = ' ';
        else
            *to++ = (unsigned char)*from < 0x20 || *from == '>' ? '?' : *from;
    }
    *to = '\0';
    return safe;
}

/* All arguments, with spaces between. To be freed. */
static char *command_text(const struct trace_reader *r) {
    char *text = mem_strdup("");
    for (const char *const *arg = trace_reader_session(r)->command; *arg; arg++) {
        char *longer = mem_printf("%s%s%s", text, *text ? " " : "", *arg);
        free(text);
        text = longer;
    }
    return text;
}

static void put_first_line(struct page *p) {
    const struct trace_reader *r = shown_reader(p->shown);
    const struct summary_range *range = &p->writing.range;
    const char *slash = strrchr(shown_path(p->shown), '/');
    AUTO_FREE char *name = comment_text(slash ? slash + 1 : shown_path(p->shown));
    AUTO_FREE char *all = command_text(r);
    AUTO_FREE char *command = comment_text(all);
    AUTO_FREE char *line = mem_printf(
        "<!-- spoor view: the trace %s of the command: %s; from %ju to %ju ns, %s; with command "
        "lines, names of processes, threads, modules, functions and source files, and times of "
        "calls; %s source text -->\n",
        name, command, range->since_ns, range->until_ns,
        range->streams ? "chosen threads" : "all threads",
        p->request.hides_values ? "without values and"
                                : "with arguments and results of single calls; without");
    put_string(p, line);
}

static void put_description(struct page *p) {
    const struct summary_range *range = &p->writing.range;
    AUTO_FREE char *json = mem_printf(
        "{\"version\": \"%s\", \"since_ns\": %ju, \"until_ns\": %ju, \"all_threads\": %s, "
        "\"threshold_ns\": %ju, \"functions\": %d, \"calls\": %d}",
        SPOOR_VERSION, range->since_ns, range->until_ns, range->streams ? "false" : "true",
        p->width_ns, LISTED_FUNCTIONS, LISTED_CALLS);
    put_element(p, "embedded", false, json, strlen(json));
}

/* ---- the file ---- */

static void put_all(struct page *p) {
    char nonce[TOKEN_ROOM];
    token_make(nonce);
    AUTO_FREE char *head = html_page_head(nonce), *rest = html_page_rest(nonce);
    put_first_line(p);
    put_string(p, head);
    put_filled(p, "/api/trace", false, fill_trace);
    put_filled(p, "/api/names", false, fill_names);
    put_filled(p, "/api/functions", false, fill_functions);
    put_filled(p, "/api/graph", false, fill_graph);
    put_filled(p, "/api/marks", false, fill_marks);
    put_filled(p, "/api/histogram", false, fill_histograms);
    put_filled(p, "/api/calls", false, fill_calls);
    put_filled(p, "/api/density", true, fill_density);
    put_filled(p, "/api/spans", true, fill_boxes);
    put_description(p);
    put_string(p, rest);
}

/* The range and the threads that OPTIONS choose. */
static int choose(struct page *p, const struct options *options, struct err *err) {
    const struct trace_reader *r = shown_reader(p->shown);
    uint64_t all_ns = trace_reader_duration_ns(r);
    struct summary_range *range = &p->writing.range;
    int rc = view_streams(&options->shown, r, &p->streams, err);
    if (rc < 0)
        return rc;
    *range = client_range(&p->writing.client);
    uint64_t until_ns = view_moment_ns(r, options->shown.until_ns);
    range->since_ns = view_moment_ns(r, options->shown.since_ns);
    range->until_ns = until_ns < all_ns ? until_ns : all_ns;
    range->streams = p->streams;
    if (range->since_ns > range->until_ns)
        return err_set(err, EINVAL, "bad-range", "%s: nothing is shown: it ends at %ju ns",
                       shown_path(p->shown), all_ns);
    return 0;
}

/* Waits for the summary, and shows its progress on a terminal, as views do. */
static void await_summary(struct summary *s) {
    enum { LOOK_NS = 200 * 1000 * 1000, PATIENCE = 5 };
    bool shows = false;
    for (unsigned looks = 0; isatty(STDERR_FILENO); looks++) {
        struct summary_state state = summary_state(s);
        if (state.complete)
            break;
        if (looks >= PATIENCE && state.all_items)
            fprintf(stderr, "\rspoor: reading: %.0f %%\033[K",
                    (double)state.items * 100 / (double)state.all_items);
        shows |= looks >= PATIENCE;
        clock_sleep_ns(LOOK_NS);
    }
    if (shows)
        fputs("\r\033[K", stderr);
    summary_wait(s);
}

/* Reads the trace: numbers of functions, and boxes. */
static void read_trace(struct page *p, const struct options *options) {
    await_summary(p->writing.summary);
    summary_functions(p->writing.summary, &p->writing.range, &p->stats);
    p->functions = mem_alloc(shown_functions(p->shown) + 1);
    for (size_t i = 0; i < stats_function_count(p->stats); i++)
        p->functions[stats_function(p->stats, i)] = 1;
    p->request =
        (struct request){.shown = p->shown,
                         .parameter = parameter,
                         .ctx = p,
                         .functions = p->functions,
                         .for_others = true,
                         .hides_values = !options->page.values || !shown_has_values(p->shown)};
    size_t columns = DENSITY_MOST / (trace_reader_stream_count(shown_reader(p->shown)) + 1);
    snprintf(p->density_columns, sizeof p->density_columns, "%zu",
             columns < 1      ? 1
             : columns < 1000 ? columns
                              : 1000);
    p->writing.request = &p->request;
    p->writing.desk = shown_desk(p->shown, &p->writing.client);
    desk_show(p->writing.desk, &p->writing.range);
}

static void note_file(const struct page *p, const char *path) {
    char width[FIGURE_ROOM];
    figure_time(width, p->width_ns);
    if (p->width_ns)
        say_note("%s: %.1f MB; calls shorter than %s are drawn together", path,
                 (double)p->bytes / 1e6, width + strspn(width, " "));
    else
        say_note("%s: %.1f MB, with each call", path, (double)p->bytes / 1e6);
}

static int write_file(struct page *p, const char *path) {
    struct err err;
    if (out_open(&p->out, path, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (p->out.file.regular)
        fchmod(p->out.fd, 0600);
    put_all(p);
    if (p->bytes > FILE_MOST) {
        out_abandon(&p->out);
        say_error("%s: it would have %.0f MB: choose less with --since, --until or --tid", path,
                  (double)p->bytes / 1e6);
        return STATUS_FAILED;
    }
    int status = out_close(&p->out);
    if (status == STATUS_OK)
        note_file(p, path);
    return status;
}

int html_write(const struct options *options, struct shown *shown) {
    struct page p = {.shown = shown, .writing.summary = shown_summary(shown)};
    struct err err;
    if (choose(&p, options, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    read_trace(&p, options);
    int status = write_file(&p, options->page.html);
    if (status == STATUS_OK && shown_check(shown, &err) < 0) {
        say_err(&err);
        status = STATUS_FAILED;
    }
    desk_return(p.writing.desk);
    stats_free(p.stats);
    free(p.functions);
    free(p.streams);
    return status;
}

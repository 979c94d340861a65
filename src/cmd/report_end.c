/* The end of a report: remarks, and in the last two lines the totals. Times of functions are sums
 * over threads, so the time of the recording stands beside them. */
#include <stdio.h>

#include "cmd/change_texts.h"
#include "cmd/report.h"

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* The marks of USDT probes, by name: not calls, so they have no times. */
static void print_mark_counts(const struct report_table *r) {
    struct names *n = r->view->source.names;
    for (uint32_t i = 0; r->mark_counts && i < names_count(n); i++) {
        if (!r->mark_counts[i])
            continue;
        AUTO_FREE char *text = mem_printf("%9ju mark%s %s", (uintmax_t)r->mark_counts[i],
                                          r->mark_counts[i] == 1 ? " " : "s", names_function(n, i));
        text_print(stdout, text);
        printf("\n");
    }
}

static void print_remarks(const struct report_table *r) {
    figure_print_marks(&r->marks, r->term.columns);
    if (r->partly)
        printf("%s: calls of %u function%s may be missing: the code was changed, or could be\n",
               FIGURE_PARTLY, r->partly, plural(r->partly));
    changed_print_end(r->view, r->term.columns);
    if (r->hidden)
        printf("%u function%s hidden by --hide: the totals contain %s\n", r->hidden,
               r->hidden == 1 ? " is" : "s are", r->hidden == 1 ? "it" : "them");
}

/* Says how long the recording, or the shown part of it, lasted: LENGTH. To be freed. */
static char *length_text(struct trace_part_range parts, const char *length) {
    const char *lasted = parts.newest ? "lasted" : "had lasted";
    if (parts.first == parts.last && parts.last && !(parts.last == 1 && parts.newest))
        return mem_printf("part %u of the recording, which %s %s", parts.last, lasted, length);
    if (parts.first > 1)
        return mem_printf("parts %u to %u of the recording, which %s %s", parts.first, parts.last,
                          lasted, length);
    return mem_printf("the recording lasted %s", length);
}

/* How many threads the times are sums over. To be freed. */
static char *threads_text(uint32_t threads) {
    if (threads > 1)
        return mem_printf(", summed over %u threads", threads);
    return mem_strdup(threads ? ", in one thread" : "");
}

void report_print_end(const struct report_table *r) {
    const char *losses = view_losses(r->view);
    const struct trace_reader *reader = r->view->source.reader;
    char time[FIGURE_ROOM], whole[FIGURE_ROOM];
    printf("\n");
    print_mark_counts(r);
    print_remarks(r);
    figure_time(time, r->self);
    figure_time(whole, trace_reader_duration_ns(reader));
    AUTO_FREE char *threads = threads_text(r->threads);
    AUTO_FREE char *totals =
        mem_printf("%u function%s, %ju call%s: %s in all%s", r->functions, plural(r->functions),
                   r->calls, plural(r->calls), time, threads);
    AUTO_FREE char *length = length_text(trace_reader_parts(reader), whole);
    AUTO_FREE char *end = mem_printf("%s; %s", length, losses ? losses : "no events lost");
    text_print_wrapped(totals, 0, r->term.columns);
    text_print_wrapped(end, 0, r->term.columns);
}

/* The end of a report: remarks, and in the last two lines the totals. Times of functions are sums
 * over threads, so the time of the recording stands beside them. */
#include <stdio.h>

#include "cmd/changed.h"
#include "cmd/report.h"

static const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

/* The number of threads that are shown and have events. */
static uint32_t count_threads(const struct source *source) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace_reader_stream_count(source->reader); i++)
        count += view_filter_shows_stream(source->filter, i) &&
                 trace_reader_first_ticks(source->reader, i) != UINT64_MAX;
    return count;
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

/* LENGTH: up to the end of what is shown of the recording. */
static void print_length(struct trace_part_range parts, const char *length) {
    if (parts.first == parts.last && parts.last && !(parts.last == 1 && parts.newest))
        printf("part %u of the recording", parts.last);
    else if (parts.first > 1)
        printf("parts %u to %u of the recording", parts.first, parts.last);
    else {
        printf("the recording lasted %s", length);
        return;
    }
    printf(", which %s %s", parts.newest ? "lasted" : "had lasted", length);
}

void report_print_end(const struct report_table *r) {
    const char *losses = view_losses(r->view);
    uint32_t threads = count_threads(&r->view->source);
    char time[FIGURE_ROOM], whole[FIGURE_ROOM];
    printf("\n");
    print_remarks(r);
    figure_time(time, r->self);
    figure_time(whole, trace_reader_duration_ns(r->view->source.reader));
    printf("%u function%s, %ju call%s: %s in all, ", r->functions, plural(r->functions), r->calls,
           plural(r->calls), time);
    if (threads == 1)
        printf("in one thread\n");
    else
        printf("summed over %u threads\n", threads);
    print_length(trace_reader_parts(r->view->source.reader), whole);
    printf("; %s\n", losses ? losses : "no events lost");
}

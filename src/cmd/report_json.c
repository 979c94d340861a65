/* The JSON of a report. */
#include <stdio.h>

#include "analyze/processes.h"
#include "cmd/callers.h"
#include "cmd/json.h"
#include "cmd/report.h"
#include "plan/plan.h"

static void json_aliases(FILE *out, struct names *n, uint32_t function) {
    const char *const *alias = names_aliases(n, function);
    if (!alias)
        return;
    fprintf(out, ", \"aliases\": [");
    for (size_t i = 0; alias[i]; i++) {
        fprintf(out, "%s", i ? ", " : "");
        json_print_string(out, alias[i]);
    }
    fprintf(out, "]");
}

/* The process, if rows are of single ones, and the source line, if a column wants it. */
static void json_place(FILE *out, const struct report_table *r, const struct row *row) {
    const struct trace_reader *reader = r->view->source.reader;
    if (report_has_processes(r->options) && row->process != PROCESS_NONE) {
        fprintf(out,
                ", \"pid\": %u, \"process\": ", trace_reader_process(reader, row->process)->pid);
        json_print_string(out, process_name(reader, row->process));
    }
    if (!report_wants(r->options, REPORT_LINE))
        return;
    struct source_line line = names_source(r->view->source.names, row->function);
    fprintf(out, ", \"file\": ");
    if (line.file) {
        json_print_string(out, line.file);
        fprintf(out, ", \"line\": %u", line.line);
    } else {
        fprintf(out, "null, \"line\": null");
    }
}

static void json_group(FILE *out, const struct value_groups *values, uint32_t number) {
    const char *value = value_groups_json(values, number);
    fprintf(out, ", \"group\": {\"expression\": ");
    json_print_string(out, value_groups_expression(values));
    if (!value) {
        fprintf(out, ", \"others\": true}");
        return;
    }
    fprintf(out, ", \"value\": %s, \"text\": ", value);
    json_print_string(out, value_groups_text(values, number));
    fprintf(out, "}");
}

static void json_row(FILE *out, const struct report_table *r, const struct row *row) {
    struct names *n = r->view->source.names;
    const uint64_t *v = row->numbers;
    fprintf(out, "{\"function\": ");
    json_print_string(out, names_function(n, row->function));
    fprintf(out, ", \"module\": ");
    json_print_string(out, names_module_name(n, row->module));
    fprintf(out,
            ", \"calls\": %ju, \"total_ns\": %ju, \"self_ns\": %ju, \"min_ns\": %ju, "
            "\"max_ns\": %ju, \"p50_ns\": %ju, \"p99_ns\": %ju, \"avg_ns\": %ju, "
            "\"stdev_ns\": %ju, \"unwound\": %ju, "
            "\"inferred\": %ju, \"before\": %ju, \"cut\": %ju, \"open\": %ju, \"clipped\": %ju, "
            "\"paused_ns\": %ju, \"tier\": \"%s\"",
            v[REPORT_CALLS], v[REPORT_TOTAL], v[REPORT_SELF], v[REPORT_MIN], v[REPORT_MAX],
            v[REPORT_P50], v[REPORT_P99], v[REPORT_AVG], v[REPORT_STDEV], v[REPORT_UNWOUND],
            row->marks.inferred, row->marks.before, row->marks.cut, row->marks.open,
            row->marks.clipped, row->paused_ns, tier_name(names_tier(n, row->function)));
    if (names_partly(n, row->function))
        fprintf(out, ", \"partly\": true");
    json_place(out, r, row);
    if (r->options->by_thread)
        fprintf(out, ", \"tid\": %u",
                trace_reader_thread(r->view->source.reader, row->stream)->tid);
    json_aliases(out, n, row->function);
    if (r->numbered)
        fprintf(out, ", \"number\": %u", row->function);
    if (r->values && row->chain != VALUE_GROUP_NONE)
        json_group(out, r->values, row->chain);
    if (r->places) {
        AUTO_FREE char *callers = callers_json(r->places, row->chain, false);
        fprintf(out, "%s", callers);
    }
    fprintf(out, "}");
}

/* A mark's row: no function, and no times. */
static void json_mark(FILE *out, const struct report_table *r, uint32_t mark) {
    struct names *n = r->view->source.names;
    fprintf(out, "{\"mark\": ");
    json_print_string(out, names_function(n, mark));
    fprintf(out, ", \"module\": ");
    json_print_string(out, names_module_name(n, names_module(n, mark)));
    fprintf(out, ", \"count\": %ju}", (uintmax_t)r->mark_counts[mark]);
}

void report_print_json(FILE *out, const struct report_table *r) {
    const char *separator = "[\n";
    bool any = r->rows.count;
    for (size_t i = 0, end; i < r->rows.count; i = end) {
        end = report_group_end(r, i);
        for (size_t k = i; k < report_shown_end(r, i, end); k++) {
            fprintf(out, "%s", separator);
            json_row(out, r, &r->rows.at[k]);
            separator = ",\n";
        }
    }
    for (uint32_t i = 0; r->mark_counts && i < names_count(r->view->source.names); i++) {
        if (!r->mark_counts[i])
            continue;
        fprintf(out, "%s", separator);
        json_mark(out, r, i);
        separator = ",\n";
        any = true;
    }
    fprintf(out, "%s]\n", any ? "\n" : "[");
}

void report_json(FILE *out, struct view *view, const struct stats *stats, bool numbered) {
    static const struct report_options options = {.sort = REPORT_TOTAL};
    struct report_table r = {
        .options = &options, .view = view, .spreads = true, .numbered = numbered};
    report_take(&r, stats);
    if (!numbered)
        r.mark_counts = mark_counts_read(&view->source);
    report_print_json(out, &r);
    report_done(&r);
}

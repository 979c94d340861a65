/* spoor info: shows what was traced, how, and what was lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cmd/change_texts.h"
#include "cmd/command.h"
#include "cmd/deaths.h"
#include "cmd/figures.h"
#include "cmd/info.h"
#include "cmd/say.h"
#include "cmd/term.h"
#include "plan/plan.h"
#include "trace/reader.h"
#include "trace/values.h"

/* ---- text ---- */

enum { LABEL = 11 }; /* columns of labels */

static void print_label(const char *label) { printf("%-11s", label); }

/* Depth and threshold of the recording: views show no more. */
static void print_limits(const struct trace_session *s) {
    char text[FIGURE_ROOM];
    if (!s->depth && !s->threshold_ns)
        return;
    print_label("limits");
    if (s->depth)
        printf("depth %u%s", s->depth, s->threshold_ns ? ", " : "");
    figure_time(text, s->threshold_ns);
    printf("%s%s\n", s->threshold_ns ? text : "", s->threshold_ns ? " or longer" : "");
}

/* Of a recording that is cut into parts. */
static void print_parts(const struct trace_reader *r) {
    struct trace_part_range parts = trace_reader_parts(r);
    const char *newest = parts.newest ? ", the newest" : "";
    if (parts.last && parts.first == parts.last)
        printf("%-11s%u of the recording%s\n", "part", parts.last, newest);
    else if (parts.last)
        printf("%-11s%u to %u of the recording%s\n", "parts", parts.first, parts.last, newest);
}

static void print_recording(const struct trace_reader *r) {
    const struct trace_session *s = trace_reader_session(r);
    const struct trace_end *end = trace_reader_end(r);
    char text[FIGURE_ROOM], when[64] = "";
    time_t seconds = (time_t)(s->start_unix_ns / 1000000000);
    struct tm tm;
    print_label("command");
    for (const char *const *arg = s->command; *arg; arg++) {
        text_print(stdout, *arg);
        putchar(arg[1] ? ' ' : '\n');
    }
    if (seconds && localtime_r(&seconds, &tm) && strftime(when, sizeof when, "%F %T %z", &tm))
        printf("%-11s%s\n", "started", when);
    print_parts(r);
    figure_time(text, trace_reader_duration_ns(r));
    printf("%-11s%s\n", "duration", text);
    if (end && end->snapshot) {
        printf("%-11snumber %u, made for ", "snapshot", end->snapshot);
        text_print(stdout, end->reason);
        printf("; the program ran on\n");
        if (end->overwritten)
            printf("%-11s%ju older events; calls that were open then are in the snapshot\n",
                   "overwritten", end->overwritten);
    } else if (end && end->goes_on)
        printf("%-11sunknown: a later part of the recording follows\n", "status");
    else if (end)
        printf("%-11s%d\n", "status", end->status);
    else
        printf("%-11sunknown: the recording did not end\n", "status");
    print_label("recorder");
    printf("spoor ");
    text_print(stdout, s->version);
    printf(", ");
    text_print(stdout, s->arch);
    printf(", format %d\n", TRACE_FORMAT_VERSION);
    print_limits(s);
}

static void print_callers(const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    uint32_t chains = trace_reader_chain_count(r) - CHAIN_FIRST;
    uint64_t missed = end ? end->missed : 0;
    if (!chains && !missed)
        return;
    printf("%-11s%u chains of %u functions", "callers", chains, trace_reader_place_count(r));
    if (missed)
        printf("; %ju entr%s without: the ring had no room", missed, missed == 1 ? "y" : "ies");
    printf("\n");
}

/* Files describe all their probes, also those that were not chosen. */
static void print_marks(const struct trace_reader *r) {
    bool any = false;
    for (size_t i = 0; i < trace_reader_module_count(r) && !any; i++)
        any = trace_module_is_marks(trace_reader_module(r, i));
    if (any)
        printf("%-11sof USDT probes: see report\n", "marks");
}

/* Arguments and results, of some entries and returns. */
static void print_values(const struct trace_reader *r) {
    size_t count = trace_reader_capture_count(r);
    if (count)
        printf(
            "%-11sarguments or results at %zu kind%s of entries, returns and marks: see replay\n",
            "values", count, count == 1 ? "" : "s");
    const struct trace_end *end = trace_reader_end(r);
    if (info_knows_withdrawn(r) && end->withdrawn_reads)
        printf(
            "%-11s%ju read%s of values in %ju function%s, since pointers led nowhere too often\n",
            "withdrawn", end->withdrawn_reads, end->withdrawn_reads == 1 ? "" : "s",
            end->withdrawn_functions, end->withdrawn_functions == 1 ? "" : "s");
}

static void print_packing(const struct trace_reader *r, const struct trace_counts *c) {
    const struct trace_end *end = trace_reader_end(r);
    char text[FIGURE_ROOM];
    if (c->unpacked_blocks) {
        figure_bytes(text, c->unpacked_bytes);
        printf("%-11s%ju block%s not compressed, %s: no processor was free\n", "unpacked",
               c->unpacked_blocks, c->unpacked_blocks == 1 ? "" : "s", text);
    }
    if (end && end->waiting_bytes) {
        figure_bytes(text, end->waiting_bytes);
        printf("%-11sup to %s, while blocks waited to be compressed\n", "memory", text);
    }
}

static void print_events(const struct trace_reader *r) {
    struct trace_counts c = trace_reader_counts(r);
    char text[FIGURE_ROOM];
    printf("%-11sentries %ju, exits %ju, lost %ju%s\n", "events", c.entries, c.exits, c.lost,
           trace_reader_complete(r) ? "" : " (as far as known: the recording did not end)");
    size_t threads;
    uint64_t before = info_before(r, &threads);
    if (before)
        printf("%-11s%ju call%s of %zu thread%s when %s began\n", "open", before,
               before == 1 ? "" : "s", threads, threads == 1 ? "" : "s",
               trace_reader_parts(r).first > 1 ? "the part" : "tracing");
    print_marks(r);
    print_callers(r);
    print_values(r);
    figure_bytes(text, trace_reader_file_bytes(r));
    printf("%-11s%s", "file", text);
    if (c.entries)
        printf(", %.2f bytes a call", (double)trace_reader_file_bytes(r) / (double)c.entries);
    printf("\n");
    print_packing(r, &c);
}

/* INFERRED: the number of exits without a tier; printed if not 0. */
static void print_tiers(const char *label, const uint64_t *counts, uint64_t inferred) {
    const char *separator = "";
    print_label(label);
    for (enum tier t = TIER_PAD; t < TIER_COUNT; t++) {
        if (!counts[t])
            continue;
        printf("%s%ju %s", separator, counts[t], tier_name(t));
        separator = ", ";
    }
    if (inferred)
        printf("%s%ju " FIGURE_INFERRED " inferred", separator, inferred);
    else if (!*separator)
        printf("none");
    printf("\n");
}

static void print_functions(const struct info_functions *f) {
    char share[FIGURE_ROOM];
    figure_share(share, f->instrumented, f->seen);
    printf("\n%-11s%ju of %ju instrumented (%s)", "functions", f->instrumented, f->seen, share);
    figure_share(share, f->exact_exit, f->instrumented);
    printf(", %ju of them with all exits exact (%s)\n", f->exact_exit, share);
    print_tiers("  entries", f->tiers, 0);
    print_tiers("  exits", f->exit_tiers, f->exit_tiers[TIER_NONE]);
    for (size_t i = 0; i < f->refused.count; i++) {
        print_label(i ? "" : "  refused");
        printf("%ju ", f->refused.at[i].count);
        text_print(stdout, f->refused.at[i].reason);
        printf("\n");
    }
}

static void print_modules(const struct trace_reader *r) {
    size_t count = 0;
    for (size_t i = 0; i < trace_reader_module_count(r); i++)
        count += !trace_module_is_marks(trace_reader_module(r, i));
    printf("\n%zu module%s\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        if (trace_module_is_marks(m))
            printf("%8ju of %-8u probes of ", info_probes(m), m->function_count);
        else
            printf("%8ju of %-8ju ", m->instrumented, m->seen);
        text_print(stdout, m->path);
        printf("\n");
    }
}

static void print_processes(const struct trace_reader *r) {
    size_t count = trace_reader_process_count(r), distinct = info_processes(r);
    printf("\n%zu process%s\n", distinct, distinct == 1 ? "" : "es");
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        printf("%10u  ", p->pid);
        text_print(stdout, p->command);
        if (p->parent)
            printf(" (child of %u)", p->parent);
        printf("\n");
    }
}

static int by_tid(const void *a, const void *b) {
    const struct trace_thread *x = *(const struct trace_thread *const *)a;
    const struct trace_thread *y = *(const struct trace_thread *const *)b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The names that a thread had before. */
static void print_former_names(const struct trace_reader *r, const struct trace_thread *t) {
    const char *before = " (before: ";
    const size_t stream = t->stream;
    for (size_t i = 0; trace_reader_thread_name(r, stream, i); i++) {
        const char *name = trace_reader_thread_name(r, stream, i);
        if (!info_is_new_name(r, stream, i) || strcmp(name, t->name) == 0)
            continue;
        printf("%s", before);
        text_print(stdout, name);
        before = ", ";
    }
    printf("%s", *before == ',' ? ")" : "");
}

/* Sorts threads by id: after an attach, their streams have no useful order. */
static void print_threads(const struct trace_reader *r) {
    size_t count = trace_reader_stream_count(r);
    AUTO_FREE const struct trace_thread **threads = mem_alloc((count + 1) * sizeof *threads);
    for (size_t i = 0; i < count; i++)
        threads[i] = trace_reader_thread(r, i);
    qsort(threads, count, sizeof *threads, by_tid);
    printf("\n%zu thread%s\n", count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        const struct trace_thread *t = threads[i];
        printf("%10u  ", t->tid);
        text_print(stdout, t->name);
        print_former_names(r, t);
        if (t->tid != t->pid)
            printf(" (of process %u)", t->pid);
        printf("\n");
    }
}

static void print_paused(const struct trace_reader *r, const struct changes *c) {
    char time[FIGURE_ROOM], share[FIGURE_ROOM];
    uint64_t ns = changes_paused_ns(c);
    if (!c->pauses)
        return;
    figure_time(time, ns);
    figure_share(share, ns, trace_reader_duration_ns(r));
    printf("%-11s%zu time%s, %s in all (%s)\n", "paused", c->pauses, c->pauses == 1 ? "" : "s",
           time, share);
}

/* What spoor itself has cost the threads. */
static void print_pauses(const struct trace_reader *r, const struct trace_pauses *p) {
    char time[FIGURE_ROOM];
    const char *separator = ": ";
    if (!p->count)
        return;
    figure_time(time, info_total_ns(r, p));
    printf("%-11s%ju of threads, because spoor worked, %s in all", "pauses", p->count, time);
    for (int i = 0; i < PAUSE_CAUSES; i++) {
        if (!p->ticks[i])
            continue;
        figure_time(time, info_length_ns(r, p->ticks[i]));
        printf("%s%s %s", separator, pause_cause(i), time);
        separator = ", ";
    }
    printf("\n");
}

static void print_changes(const struct changes *c) {
    if (!c->list.count)
        return;
    printf("\n%zu change%s while recording\n", c->list.count, c->list.count == 1 ? "" : "s");
    for (size_t i = 0; i < c->list.count; i++) {
        const struct change *change = &c->list.at[i];
        AUTO_FREE char *text = changed_text(change);
        printf("%8ju.%09jus  ", change->ns / 1000000000, change->ns % 1000000000);
        if (change->pid)
            printf("process %u: ", change->pid);
        printf("%s\n", text);
    }
}

static void print_text(const struct trace_reader *r, const struct info_functions *f,
                       const struct changes *c, const struct trace_pauses *pauses) {
    print_recording(r);
    print_paused(r, c);
    print_pauses(r, pauses);
    print_events(r);
    deaths_print(r);
    print_functions(f);
    print_modules(r);
    print_processes(r);
    print_threads(r);
    print_changes(c);
}

/* Wraps a line of print_text(): the text behind a label, or behind the blanks of a table. */
static void print_line(const char *line, unsigned width) {
    size_t blanks = strspn(line, " "), start = blanks ? blanks : LABEL;
    if (strlen(line) <= start || text_columns(line) <= width) {
        puts(line);
        return;
    }
    printf("%.*s", (int)start, line);
    text_print_wrapped(line + start, (unsigned)start, width);
}

static void print_wrapped(const struct trace_reader *r, const struct info_functions *f,
                          const struct changes *c, const struct trace_pauses *pauses,
                          unsigned width) {
    char *text = NULL;
    size_t size;
    FILE *terminal = stdout;
    stdout = open_memstream(&text, &size); /* a variable: glibc's manual, "Standard Streams" */
    print_text(r, f, c, pauses);
    fclose(stdout);
    stdout = terminal;
    char *rest = text;
    for (const char *line; (line = strsep(&rest, "\n")) && rest;)
        print_line(line, width);
    free(text);
}

/* COLUMNS: of the terminal, or 0. */
static void show_text(struct trace_reader *r, unsigned columns) {
    struct info_functions functions = info_functions(r);
    struct changes changes;
    changes_read(r, &changes);
    struct trace_pauses pauses = info_pauses(r);
    if (columns)
        print_wrapped(r, &functions, &changes, &pauses, columns);
    else
        print_text(r, &functions, &changes, &pauses);
    ARRAY_FREE(&functions.refused);
    changes_done(&changes);
}

int cmd_info(struct options *options, int argc, char **argv) {
    struct term term = term_open(&options->view);
    struct trace_reader *r;
    struct err err;
    if (trace_reader_open(argc ? argv[0] : "spoor.trace", &r, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (trace_reader_warning(r))
        say_note("%s", trace_reader_warning(r));
    pager_start(&term, &options->view);
    if (options->view.json)
        info_json(stdout, r);
    else
        show_text(r, term.columns);
    pager_finish();
    trace_reader_free(r);
    return STATUS_OK;
}

/* spoor info: shows what was traced, how, and what was lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "cmd/changed.h"
#include "cmd/command.h"
#include "cmd/deaths.h"
#include "cmd/figures.h"
#include "cmd/json.h"
#include "cmd/say.h"
#include "cmd/term.h"
#include "plan/plan.h"
#include "trace/reader.h"

struct functions { /* of all modules */
    uint64_t seen, instrumented, exact_exit;
    uint64_t tiers[TRACE_TIERS], exit_tiers[TRACE_TIERS];
    ARRAY(struct trace_refused) refused; /* the largest count first */
};

static void add_refused(struct functions *f, const struct trace_refused *r) {
    for (size_t i = 0; i < f->refused.count; i++) {
        if (strcmp(f->refused.at[i].reason, r->reason) == 0) {
            f->refused.at[i].count += r->count;
            return;
        }
    }
    ARRAY_PUSH(&f->refused, *r);
}

static int compare_refused(const void *a, const void *b) {
    const struct trace_refused *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : strcmp(x->reason, y->reason);
}

static struct functions sum_functions(const struct trace_reader *r) {
    struct functions f = {0};
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        f.seen += m->seen;
        f.instrumented += m->instrumented;
        f.exact_exit += m->exact_exit;
        for (int t = 0; t < TRACE_TIERS; t++) {
            f.tiers[t] += m->tiers[t];
            f.exit_tiers[t] += m->exit_tiers[t];
        }
        for (uint32_t k = 0; k < m->refused_count; k++)
            add_refused(&f, &m->refused[k]);
    }
    if (f.refused.count)
        qsort(f.refused.at, f.refused.count, sizeof *f.refused.at, compare_refused);
    return f;
}

/* ---- JSON ---- */

static void json_command(const char *const *command) {
    printf("\"command\": [");
    for (const char *const *arg = command; *arg; arg++) {
        printf("%s", arg == command ? "" : ", ");
        json_print_string(stdout, *arg);
    }
    printf("],\n");
}

static void json_tiers(const char *name, const uint64_t *counts, enum tier first) {
    printf("  \"%s\": {", name);
    for (enum tier t = first; t < TIER_COUNT; t++)
        printf("%s\"%s\": %ju", t == first ? "" : ", ", tier_name(t), counts[t]);
    printf("},\n");
}

static void json_functions(const struct functions *f) {
    printf("\"functions\": {\"seen\": %ju, \"instrumented\": %ju, \"exact_exit\": %ju,\n", f->seen,
           f->instrumented, f->exact_exit);
    json_tiers("tiers", f->tiers, TIER_PAD);
    json_tiers("exit_tiers", f->exit_tiers, TIER_JUMP);
    printf("  \"inferred_exits\": %ju,\n  \"refused\": [", f->exit_tiers[TIER_NONE]);
    for (size_t i = 0; i < f->refused.count; i++) {
        printf("%s{\"reason\": ", i ? ", " : "");
        json_print_string(stdout, f->refused.at[i].reason);
        printf(", \"count\": %ju}", f->refused.at[i].count);
    }
    printf("]},\n");
}

static void json_modules(const struct trace_reader *r) {
    printf("\"modules\": [");
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        printf("%s\n  {\"name\": ", i ? "," : "");
        json_print_string(stdout, m->name);
        printf(", \"path\": ");
        json_print_string(stdout, m->path);
        printf(", \"build_id\": \"");
        for (int k = 0; k < m->build_id_size; k++)
            printf("%02x", m->build_id[k]);
        printf("\", \"seen\": %ju, \"instrumented\": %ju}", m->seen, m->instrumented);
    }
    printf("],\n");
}

/* The number of processes. The trace has a record of a process for each exec. */
static size_t count_processes(const struct trace_reader *r) {
    size_t distinct = 0;
    for (size_t i = 0; i < trace_reader_process_count(r); i++) {
        size_t j = 0;
        while (trace_reader_process(r, j)->pid != trace_reader_process(r, i)->pid)
            j++;
        distinct += j == i;
    }
    return distinct;
}

/* The number of calls that were open when their thread was first traced; *RET_THREADS: how many
 * threads have such calls. */
static uint64_t count_before(const struct trace_reader *r, size_t *ret_threads) {
    uint64_t sum = 0;
    *ret_threads = 0;
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        size_t records;
        const struct trace_frames *first = trace_reader_frames(r, i, &records);
        uint32_t count = records ? first->count : 0;
        sum += count;
        *ret_threads += count > 0;
    }
    return sum;
}

/* Pauses of all threads. An incomplete trace has no sums: its events are read. */
static struct trace_pauses pauses_of(struct trace_reader *r) {
    struct trace_pauses sum = {0};
    if (trace_reader_end(r))
        return trace_reader_end(r)->pauses;
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        struct trace_cursor *cursor;
        struct trace_item item;
        if (trace_cursor_open(r, i, &cursor, NULL) < 0)
            continue;
        for (int rc; (rc = trace_cursor_next(cursor, &item, NULL)) != 0;)
            if (rc > 0 && item.kind == TRACE_EVENT && item.event == EVENT_CONTROL &&
                is_pause_event(item.id))
                trace_pauses_add(&sum, item.id, item.sp);
        trace_cursor_free(cursor);
    }
    return sum;
}

static uint64_t length_ns(const struct trace_reader *r, uint64_t ticks) {
    return trace_reader_ns(r, trace_reader_ticks(r, 0) + ticks);
}

static uint64_t total_ns(const struct trace_reader *r, const struct trace_pauses *p) {
    uint64_t sum = 0;
    for (int i = 0; i < PAUSE_CAUSES; i++)
        sum += length_ns(r, p->ticks[i]);
    return sum;
}

static void json_pauses(const struct trace_reader *r, const struct trace_pauses *p) {
    printf("\"pauses\": {\"count\": %ju, \"total_ns\": %ju, \"by\": {", p->count, total_ns(r, p));
    for (int i = 0; i < PAUSE_CAUSES; i++)
        printf("%s\"%s\": %ju", i ? ", " : "", pause_cause(i), length_ns(r, p->ticks[i]));
    printf("}},\n");
}

/* Recorded callers. "missed" is null if the recording did not end: the number is not known. */
static void json_callers(const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    AUTO_FREE char *missed = end ? mem_printf("%ju", end->missed) : mem_strdup("null");
    printf("\"callers\": {\"chains\": %u, \"functions\": %u, \"missed\": %s},\n",
           trace_reader_chain_count(r) - CHAIN_FIRST, trace_reader_place_count(r), missed);
}

/* What there was no time to compress, and the memory that blocks took while they waited: null if
 * the recording did not end. */
static void json_packing(const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    struct trace_counts c = trace_reader_counts(r);
    AUTO_FREE char *waiting = end ? mem_printf("%ju", end->waiting_bytes) : mem_strdup("null");
    printf("\"packing\": {\"unpacked_blocks\": %ju, \"unpacked_bytes\": %ju, "
           "\"waiting_bytes\": %s},\n",
           c.unpacked_blocks, c.unpacked_bytes, waiting);
}

static void json_changes(const struct changes *c) {
    printf("\"paused_ns\": %ju,\n\"changes\": [", changes_paused_ns(c));
    for (size_t i = 0; i < c->list.count; i++) {
        const struct change *change = &c->list.at[i];
        AUTO_FREE char *members = changed_members(change);
        printf("%s\n  {\"t_ns\":%ju,\"pid\":%u,\"kind\":\"%s\"%s}", i ? "," : "", change->ns,
               change->pid, changed_kind(change), members);
    }
    printf("],\n");
}

/* Whether name I of a thread is not among its names before. */
static bool is_new_name(const struct trace_reader *r, size_t stream, size_t i) {
    const char *name = trace_reader_thread_name(r, stream, i);
    for (size_t k = 0; k < i; k++)
        if (strcmp(trace_reader_thread_name(r, stream, k), name) == 0)
            return false;
    return true;
}

/* All names of a thread that had several. */
static void json_names(const struct trace_reader *r, size_t stream) {
    if (!trace_reader_thread_name(r, stream, 1))
        return;
    printf(", \"names\": [");
    for (size_t i = 0; trace_reader_thread_name(r, stream, i); i++) {
        if (!is_new_name(r, stream, i))
            continue;
        printf("%s", i ? ", " : "");
        json_print_string(stdout, trace_reader_thread_name(r, stream, i));
    }
    printf("]");
}

static void json_tasks(const struct trace_reader *r) {
    printf("\"process_list\": [");
    for (size_t i = 0; i < trace_reader_process_count(r); i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        printf("%s\n  {\"pid\": %u, \"parent\": %u, \"command\": ", i ? "," : "", p->pid,
               p->parent);
        json_print_string(stdout, p->command);
        printf("}");
    }
    printf("],\n\"thread_list\": [");
    for (size_t i = 0; i < trace_reader_stream_count(r); i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        printf("%s\n  {\"tid\": %u, \"pid\": %u, \"name\": ", i ? "," : "", t->tid, t->pid);
        json_print_string(stdout, t->name);
        json_names(r, i);
        printf("}");
    }
    printf("]");
}

static size_t count_seekable(const struct trace_reader *r) {
    size_t count = 0;
    for (size_t i = 0; i < trace_reader_stream_count(r); i++)
        count += trace_reader_has_checkpoints(r, i);
    return count;
}

static void print_json(const struct trace_reader *r, const struct functions *f,
                       const struct changes *c, const struct trace_pauses *pauses) {
    const struct trace_session *s = trace_reader_session(r);
    const struct trace_end *end = trace_reader_end(r);
    struct trace_counts counts = trace_reader_counts(r);
    printf("{\"format\": %d,\n\"spoor\": ", TRACE_FORMAT_VERSION);
    json_print_string(stdout, s->version);
    printf(",\n\"arch\": ");
    json_print_string(stdout, s->arch);
    printf(",\n");
    json_command(s->command);
    if (end && !end->snapshot)
        printf("\"status\": %d,\n", end->status);
    else
        printf("\"status\": null,\n");
    if (end && end->snapshot) {
        printf("\"snapshot\": %u,\n\"reason\": ", end->snapshot);
        json_print_string(stdout, end->reason);
        printf(",\n\"overwritten\": %ju,\n", end->overwritten);
    }
    printf("\"complete\": %s,\n\"start_unix_ns\": %ju,\n\"duration_ns\": %ju,\n",
           trace_reader_complete(r) ? "true" : "false", s->start_unix_ns,
           trace_reader_duration_ns(r));
    printf("\"processes\": %zu,\n\"threads\": %zu,\n\"seekable_threads\": %zu,\n",
           count_processes(r), trace_reader_stream_count(r), count_seekable(r));
    json_functions(f);
    size_t threads_before;
    printf("\"events\": {\"entry\": %ju, \"exit\": %ju, \"lost\": %ju, \"before\": %ju},\n",
           counts.entries, counts.exits, counts.lost, count_before(r, &threads_before));
    json_callers(r);
    printf("\"limits\": {\"depth\": %u, \"threshold_ns\": %ju},\n", s->depth, s->threshold_ns);
    printf("\"bytes\": %ju,\n", trace_reader_file_bytes(r));
    json_packing(r);
    json_pauses(r, pauses);
    json_changes(c);
    deaths_print_json(r);
    json_modules(r);
    json_tasks(r);
    printf("}\n");
}

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
    figure_time(text, trace_reader_duration_ns(r));
    printf("%-11s%s\n", "duration", text);
    if (end && end->snapshot) {
        printf("%-11snumber %u, made for ", "snapshot", end->snapshot);
        text_print(stdout, end->reason);
        printf("; the program ran on\n");
        if (end->overwritten)
            printf("%-11s%ju older events; calls that were open then are in the snapshot\n",
                   "overwritten", end->overwritten);
    } else if (end)
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
    uint64_t before = count_before(r, &threads);
    if (before)
        printf("%-11s%ju call%s of %zu thread%s when tracing began\n", "open", before,
               before == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
    print_callers(r);
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

static void print_functions(const struct functions *f) {
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
    printf("\n%zu module%s\n", trace_reader_module_count(r),
           trace_reader_module_count(r) == 1 ? "" : "s");
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        printf("%8ju of %-8ju ", m->instrumented, m->seen);
        text_print(stdout, m->path);
        printf("\n");
    }
}

static void print_processes(const struct trace_reader *r) {
    size_t count = trace_reader_process_count(r), distinct = count_processes(r);
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
static void print_former_names(const struct trace_reader *r, size_t stream) {
    const char *last = trace_reader_thread(r, stream)->name, *before = " (before: ";
    for (size_t i = 0; trace_reader_thread_name(r, stream, i); i++) {
        const char *name = trace_reader_thread_name(r, stream, i);
        if (!is_new_name(r, stream, i) || strcmp(name, last) == 0)
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
        print_former_names(r, t->stream);
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
    figure_time(time, total_ns(r, p));
    printf("%-11s%ju of threads, because spoor worked, %s in all", "pauses", p->count, time);
    for (int i = 0; i < PAUSE_CAUSES; i++) {
        if (!p->ticks[i])
            continue;
        figure_time(time, length_ns(r, p->ticks[i]));
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

static void print_text(const struct trace_reader *r, const struct functions *f,
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

static void print_wrapped(const struct trace_reader *r, const struct functions *f,
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
    struct functions functions = sum_functions(r);
    struct changes changes;
    changes_read(r, &changes);
    struct trace_pauses pauses = pauses_of(r);
    pager_start(&term, &options->view);
    if (options->view.json)
        print_json(r, &functions, &changes, &pauses);
    else if (term.columns)
        print_wrapped(r, &functions, &changes, &pauses, term.columns);
    else
        print_text(r, &functions, &changes, &pauses);
    pager_finish();
    ARRAY_FREE(&functions.refused);
    changes_done(&changes);
    trace_reader_free(r);
    return STATUS_OK;
}

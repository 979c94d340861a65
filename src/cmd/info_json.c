/* The JSON of `spoor info`. */
#include "cmd/change_texts.h"
#include "cmd/deaths.h"
#include "cmd/info.h"
#include "cmd/json.h"
#include "plan/plan.h"
#include "trace/values.h"

static void json_command(FILE *out, const char *const *command) {
    fprintf(out, "\"command\": [");
    for (const char *const *arg = command; *arg; arg++) {
        fprintf(out, "%s", arg == command ? "" : ", ");
        json_print_string(out, *arg);
    }
    fprintf(out, "],\n");
}

static void json_tiers(FILE *out, const char *name, const uint64_t *counts, enum tier first) {
    fprintf(out, "  \"%s\": {", name);
    for (enum tier t = first; t < TIER_COUNT; t++)
        fprintf(out, "%s\"%s\": %ju", t == first ? "" : ", ", tier_name(t), counts[t]);
    fprintf(out, "},\n");
}

static void json_functions(FILE *out, const struct info_functions *f) {
    fprintf(out, "\"functions\": {\"seen\": %ju, \"instrumented\": %ju, \"exact_exit\": %ju,\n",
            f->seen, f->instrumented, f->exact_exit);
    json_tiers(out, "tiers", f->tiers, TIER_PAD);
    json_tiers(out, "exit_tiers", f->exit_tiers, TIER_JUMP);
    fprintf(out, "  \"inferred_exits\": %ju,\n  \"refused\": [", f->exit_tiers[TIER_NONE]);
    for (size_t i = 0; i < f->refused.count; i++) {
        fprintf(out, "%s{\"reason\": ", i ? ", " : "");
        json_print_string(out, f->refused.at[i].reason);
        fprintf(out, ", \"count\": %ju}", f->refused.at[i].count);
    }
    fprintf(out, "]},\n");
}

static void json_modules(FILE *out, const struct trace_reader *r) {
    const char *separator = "";
    fprintf(out, "\"modules\": [");
    for (size_t i = 0; i < trace_reader_module_count(r); i++) {
        const struct trace_module *m = trace_reader_module(r, i);
        if (trace_module_is_marks(m))
            continue;
        fprintf(out, "%s\n  {\"name\": ", separator);
        separator = ",";
        json_print_string(out, m->name);
        fprintf(out, ", \"path\": ");
        json_print_string(out, m->path);
        fprintf(out, ", \"build_id\": \"");
        for (int k = 0; k < m->build_id_size; k++)
            fprintf(out, "%02x", m->build_id[k]);
        fprintf(out, "\", \"seen\": %ju, \"instrumented\": %ju}", m->seen, m->instrumented);
    }
    fprintf(out, "],\n");
}

static void json_pauses(FILE *out, const struct trace_reader *r, const struct trace_pauses *p) {
    fprintf(out, "\"pauses\": {\"count\": %ju, \"total_ns\": %ju, \"by\": {", p->count,
            info_total_ns(r, p));
    for (int i = 0; i < PAUSE_CAUSES; i++)
        fprintf(out, "%s\"%s\": %ju", i ? ", " : "", pause_cause(i),
                info_length_ns(r, p->ticks[i]));
    fprintf(out, "}},\n");
}

/* Recorded callers. "missed" is null if the recording did not end: the number is not known. */
static void json_callers(FILE *out, const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    AUTO_FREE char *missed = end ? mem_printf("%ju", end->missed) : mem_strdup("null");
    fprintf(out, "\"callers\": {\"chains\": %u, \"functions\": %u, \"missed\": %s},\n",
            trace_reader_chain_count(r) - CHAIN_FIRST, trace_reader_place_count(r), missed);
}

/* Reads of values: null if it is not known how many were withdrawn. */
static void json_withdrawn(FILE *out, const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    if (info_knows_withdrawn(r))
        fprintf(out, "\"withdrawn\": {\"reads\": %ju, \"functions\": %ju},\n", end->withdrawn_reads,
                end->withdrawn_functions);
    else
        fprintf(out, "\"withdrawn\": null,\n");
}

/* What there was no time to compress, and the memory that blocks took while they waited: null if
 * the recording did not end. */
static void json_packing(FILE *out, const struct trace_reader *r) {
    const struct trace_end *end = trace_reader_end(r);
    struct trace_counts c = trace_reader_counts(r);
    AUTO_FREE char *waiting = end ? mem_printf("%ju", end->waiting_bytes) : mem_strdup("null");
    fprintf(out,
            "\"packing\": {\"unpacked_blocks\": %ju, \"unpacked_bytes\": %ju, "
            "\"waiting_bytes\": %s},\n",
            c.unpacked_blocks, c.unpacked_bytes, waiting);
}

static void json_changes(FILE *out, const struct changes *c) {
    fprintf(out, "\"paused_ns\": %ju,\n\"changes\": [", changes_paused_ns(c));
    for (size_t i = 0; i < c->list.count; i++) {
        const struct change *change = &c->list.at[i];
        AUTO_FREE char *members = changed_members(change);
        fprintf(out, "%s\n  {\"t_ns\":%ju,\"pid\":%u,\"kind\":\"%s\"%s}", i ? "," : "", change->ns,
                change->pid, changed_kind(change), members);
    }
    fprintf(out, "],\n");
}

/* All names of a thread that had several. */
static void json_names(FILE *out, const struct trace_reader *r, size_t stream) {
    if (!trace_reader_thread_name(r, stream, 1))
        return;
    fprintf(out, ", \"names\": [");
    for (size_t i = 0; trace_reader_thread_name(r, stream, i); i++) {
        if (!info_is_new_name(r, stream, i))
            continue;
        fprintf(out, "%s", i ? ", " : "");
        json_print_string(out, trace_reader_thread_name(r, stream, i));
    }
    fprintf(out, "]");
}

static void json_tasks(FILE *out, const struct trace_reader *r) {
    fprintf(out, "\"process_list\": [");
    for (size_t i = 0; i < trace_reader_process_count(r); i++) {
        const struct trace_process *p = trace_reader_process(r, i);
        fprintf(out, "%s\n  {\"pid\": %u, \"parent\": %u, \"command\": ", i ? "," : "", p->pid,
                p->parent);
        json_print_string(out, p->command);
        fprintf(out, "}");
    }
    fprintf(out, "],\n\"thread_list\": [");
    for (size_t i = 0; i < trace_reader_stream_count(r); i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        fprintf(out, "%s\n  {\"tid\": %u, \"pid\": %u, \"name\": ", i ? "," : "", t->tid, t->pid);
        json_print_string(out, t->name);
        json_names(out, r, i);
        fprintf(out, "}");
    }
    fprintf(out, "]");
}

static size_t count_seekable(const struct trace_reader *r) {
    size_t count = 0;
    for (size_t i = 0; i < trace_reader_stream_count(r); i++)
        count += trace_reader_has_checkpoints(r, i);
    return count;
}

static void print_json(FILE *out, const struct trace_reader *r, const struct info_functions *f,
                       const struct changes *c, const struct trace_pauses *pauses) {
    const struct trace_session *s = trace_reader_session(r);
    const struct trace_end *end = trace_reader_end(r);
    struct trace_counts counts = trace_reader_counts(r);
    fprintf(out, "{\"format\": %d,\n\"spoor\": ", TRACE_FORMAT_VERSION);
    json_print_string(out, s->version);
    fprintf(out, ",\n\"arch\": ");
    json_print_string(out, s->arch);
    fprintf(out, ",\n");
    json_command(out, s->command);
    struct trace_part_range parts = trace_reader_parts(r);
    if (end && !end->snapshot && !end->goes_on)
        fprintf(out, "\"status\": %d,\n", end->status);
    else
        fprintf(out, "\"status\": null,\n");
    if (end && end->snapshot) {
        fprintf(out, "\"snapshot\": %u,\n\"reason\": ", end->snapshot);
        json_print_string(out, end->reason);
        fprintf(out, ",\n\"overwritten\": %ju,\n", end->overwritten);
    }
    if (parts.last)
        fprintf(out, "\"parts\": {\"first\": %u, \"last\": %u, \"newest\": %s},\n", parts.first,
                parts.last, parts.newest ? "true" : "false");
    fprintf(out, "\"complete\": %s,\n\"start_unix_ns\": %ju,\n\"duration_ns\": %ju,\n",
            trace_reader_complete(r) ? "true" : "false", s->start_unix_ns,
            trace_reader_duration_ns(r));
    fprintf(out, "\"processes\": %zu,\n\"threads\": %zu,\n\"seekable_threads\": %zu,\n",
            info_processes(r), trace_reader_stream_count(r), count_seekable(r));
    json_functions(out, f);
    size_t threads_before;
    fprintf(out, "\"events\": {\"entry\": %ju, \"exit\": %ju, \"lost\": %ju, \"before\": %ju},\n",
            counts.entries, counts.exits, counts.lost, info_before(r, &threads_before));
    json_callers(out, r);
    fprintf(out, "\"values\": %s,\n", trace_reader_has_values(r) ? "true" : "false");
    json_withdrawn(out, r);
    fprintf(out, "\"limits\": {\"depth\": %u, \"threshold_ns\": %ju},\n", s->depth,
            s->threshold_ns);
    fprintf(out, "\"bytes\": %ju,\n", trace_reader_file_bytes(r));
    json_packing(out, r);
    json_pauses(out, r, pauses);
    json_changes(out, c);
    deaths_print_json(out, r);
    json_modules(out, r);
    json_tasks(out, r);
    fprintf(out, "}\n");
}

void info_json(FILE *out, struct trace_reader *r) {
    struct info_functions functions = info_functions(r);
    struct changes changes;
    changes_read(r, &changes);
    struct trace_pauses pauses = info_pauses(r);
    print_json(out, r, &functions, &changes, &pauses);
    ARRAY_FREE(&functions.refused);
    changes_done(&changes);
}

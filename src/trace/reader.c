/* Opens a trace, sorts its tables, and gives access to them. */
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/search.h"
#include "base/wide.h"
#include "trace/file.h"
#include "trace/part_set.h"

static int open_file(struct trace_reader *r, struct err *err) {
    struct stat st;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (r->fd < 0 || fstat(r->fd, &st))
        return err_set(err, errno, "open", "%s: cannot open: %s", r->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "not-a-trace",
                       "%s: is not a spoor trace, but %s", r->path,
                       S_ISDIR(st.st_mode) ? "a directory" : "a device or pipe");
    r->size = (uint64_t)st.st_size;
    return 0;
}

/* Streams' numbers in them are those of their file: a set of parts has other ones. */
static void group_checkpoints(struct trace_reader *r) {
    if (r->set)
        return;
    for (size_t i = 0; i < r->blocks.count; i++) {
        if (r->blocks.at[i].block.type == DISK_CHECKPOINT)
            ARRAY_PUSH(&r->checkpoints, r->blocks.at[i]);
        if (r->blocks.at[i].block.type == DISK_PAUSES)
            ARRAY_PUSH(&r->pause_blocks, r->blocks.at[i]);
    }
}

/* Keeps only blocks with events, sorted by stream and then by place in the file. */
static void group_streams(struct trace_reader *r) {
    size_t events = 0, streams = r->threads.count;
    for (size_t i = 0; i < r->blocks.count; i++) {
        const struct disk_block *b = &r->blocks.at[i].block;
        if (b->type != DISK_EVENTS || !b->items)
            continue;
        r->blocks.at[events++] = r->blocks.at[i];
        if (b->stream >= streams)
            streams = (size_t)b->stream + 1;
    }
    while (r->threads.count < streams)
        ARRAY_PUSH(&r->threads,
                   ((struct trace_thread){.stream = (uint32_t)r->threads.count, .name = ""}));
    size_t *first = mem_alloc((streams + 2) * sizeof *first);
    for (size_t i = 0; i < events; i++)
        first[r->blocks.at[i].block.stream + 2]++;
    for (size_t i = 1; i < streams + 2; i++)
        first[i] += first[i - 1];
    struct disk_index_entry *sorted = mem_alloc(events * sizeof *sorted);
    for (size_t i = 0; i < events; i++)
        sorted[first[r->blocks.at[i].block.stream + 1]++] = r->blocks.at[i];
    free(r->blocks.at);
    r->blocks.at = sorted;
    r->blocks.count = r->blocks.room = events;
    r->stream_first = first;
}

static int compare_frames(const void *a, const void *b) {
    const struct trace_frames *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return (x->ticks > y->ticks) - (x->ticks < y->ticks);
}

/* Sorts frames by stream and time. Adds threads for streams that have only frames. */
static void group_frames(struct trace_reader *r) {
    if (r->frames.count)
        qsort(r->frames.at, r->frames.count, sizeof *r->frames.at, compare_frames);
    for (size_t i = 0; i < r->frames.count; i++)
        while (r->threads.count <= r->frames.at[i].stream)
            ARRAY_PUSH(&r->threads,
                       ((struct trace_thread){.stream = (uint32_t)r->threads.count, .name = ""}));
}

static int compare_changes(const void *a, const void *b) {
    const struct trace_change *x = a, *y = b;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
                            : (x->kind > y->kind) - (x->kind < y->kind);
}

static void widen_ticks(struct trace_reader *r, uint64_t first, uint64_t last) {
    if (first < r->scale.first)
        r->scale.first = first;
    if (last > r->last_ticks)
        r->last_ticks = last;
}

static void count_block(struct trace_counts *c, const struct disk_block *b) {
    c->entries += b->entries;
    c->exits += b->exits;
    c->lost += b->lost;
    if (b->type == DISK_EVENTS && b->coding == DISK_PLAIN && b->raw > DISK_SMALL) {
        c->unpacked_blocks++;
        c->unpacked_bytes += b->stored;
    }
}

static void sum_blocks(struct trace_reader *r) {
    r->scale.first = r->clocks.count ? r->clocks.at[0].ticks : UINT64_MAX;
    r->last_ticks = r->has_end ? r->end.ticks : 0;
    if (r->clocks.count && r->clocks.at[r->clocks.count - 1].ticks > r->last_ticks)
        r->last_ticks = r->clocks.at[r->clocks.count - 1].ticks;
    for (size_t i = 0; i < r->blocks.count; i++) {
        const struct disk_block *b = &r->blocks.at[i].block;
        count_block(&r->counts, b);
        widen_ticks(r, b->first, b->last);
    }
    for (size_t i = 0; i < r->frames.count; i++)
        widen_ticks(r, r->frames.at[i].ticks, r->frames.at[i].ticks);
    if (r->scale.first > r->last_ticks)
        r->scale.first = r->last_ticks;
}

/* Computes the scale from the first and the last clock record. Without them a tick is 1 ns. */
static void compute_scale(struct trace_reader *r) {
    r->scale.scale = (uint64_t)1 << SCALE_BITS;
    if (r->clocks.count < 2)
        return;
    const struct trace_clock *a = &r->clocks.at[0], *b = &r->clocks.at[r->clocks.count - 1];
    if (b->ticks <= a->ticks || b->ns <= a->ns)
        return;
    struct wide ns = wide_product(b->ns - a->ns, (uint64_t)1 << SCALE_BITS);
    struct wide scale = wide_quotient(ns, b->ticks - a->ticks, NULL);
    if (scale.low && !scale.high)
        r->scale.scale = scale.low;
}

static void set_warning(struct trace_reader *r) {
    bool damaged = r->damaged_blocks || r->skipped_bytes;
    const char *incomplete = r->has_end ? ""
                                        : "incomplete (the recording was cut short or goes on); "
                                          "events lost at its end cannot be counted";
    if (damaged)
        r->warning = mem_printf("%s: is damaged%s%s: unreadable parts are left out", r->path,
                                r->has_end ? "" : " and ", incomplete);
    else if (!r->has_end)
        r->warning = mem_printf("%s: is %s", r->path, incomplete);
    else if (r->missing_part)
        r->warning = mem_printf("%s: part %u is missing: only what came after it is shown", r->path,
                                r->missing_part);
    else if (!r->indexed)
        r->warning = mem_printf("%s: its index is missing or damaged; all blocks were found "
                                "without it",
                                r->path);
}

static int compare_first_id(const void *a, const void *b, void *arg) {
    const struct trace_module *m = arg;
    uint32_t x = m[*(const uint32_t *)a].first_id, y = m[*(const uint32_t *)b].first_id;
    return (x > y) - (x < y);
}

static int read_all(struct trace_reader *r, struct err *err) {
    int rc = open_file(r, err);
    if (!rc)
        rc = scan_file(r, err);
    if (rc)
        return rc;
    part_set_join(r);
    load_metadata(r);
    part_set_number_blocks(r);
    if (!r->has_session && (r->damaged_blocks || r->skipped_bytes || r->indexed))
        return err_set(err, EILSEQ, "corrupt-trace",
                       "%s: is damaged: its session record cannot be read", r->path);
    if (!r->has_session)
        return err_set(err, ENODATA, "truncated-trace",
                       "%s: is cut off before anything was recorded", r->path);
    if (r->by_id.count)
        qsort_r(r->by_id.at, r->by_id.count, sizeof *r->by_id.at, compare_first_id, r->modules.at);
    if (r->changes.count)
        qsort(r->changes.at, r->changes.count, sizeof *r->changes.at, compare_changes);
    name_threads(r);
    group_frames(r);
    group_checkpoints(r);
    captures_sort(r);
    values_group(r);
    group_streams(r);
    sum_blocks(r);
    compute_scale(r);
    set_warning(r);
    return 0;
}

int trace_reader_open(const char *path, struct trace_reader **ret, struct err *err) {
    struct trace_reader *r = mem_alloc(sizeof *r);
    r->types = types_new();
    r->path = mem_strdup(path);
    r->fd = -1;
    unpack_pool_init(&r->pool);
    pthread_mutex_init(&r->pauses_lock, NULL);
    int rc = read_all(r, err);
    if (rc) {
        trace_reader_free(r);
        return rc;
    }
    *ret = r;
    return 0;
}

void trace_reader_free(struct trace_reader *r) {
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    part_set_free(r->set);
    for (size_t i = 0; i < r->modules.count; i++) {
        free((void *)r->modules.at[i].refused);
        ARRAY_FREE(&r->tables.at[i]);
    }
    for (size_t i = 0; i < r->frames.count; i++)
        free((void *)r->frames.at[i].frames);
    for (size_t i = 0; i < r->deaths.count; i++)
        free((void *)r->deaths.at[i].frames);
    for (size_t i = 0; i < r->payloads.count; i++)
        free(r->payloads.at[i]);
    free((void *)r->session.command);
    ARRAY_FREE(&r->blocks);
    ARRAY_FREE(&r->checkpoints);
    ARRAY_FREE(&r->pause_blocks);
    captures_done(r);
    types_free(r->types);
    ARRAY_FREE(&r->pauses);
    free(r->pause_list);
    pthread_mutex_destroy(&r->pauses_lock);
    ARRAY_FREE(&r->clocks);
    ARRAY_FREE(&r->processes);
    ARRAY_FREE(&r->threads);
    ARRAY_FREE(&r->modules);
    ARRAY_FREE(&r->tables);
    ARRAY_FREE(&r->by_id);
    ARRAY_FREE(&r->extents);
    ARRAY_FREE(&r->maps);
    ARRAY_FREE(&r->frames);
    ARRAY_FREE(&r->changes);
    ARRAY_FREE(&r->deaths);
    ARRAY_FREE(&r->former_names);
    ARRAY_FREE(&r->places);
    ARRAY_FREE(&r->chains);
    ARRAY_FREE(&r->payloads);
    unpack_pool_done(&r->pool);
    free(r->stream_first);
    free(r->warning);
    free(r->path);
    free(r);
}

const struct trace_session *trace_reader_session(const struct trace_reader *r) {
    return &r->session;
}

bool trace_reader_complete(const struct trace_reader *r) { return r->has_end; }
const char *trace_reader_warning(const struct trace_reader *r) { return r->warning; }

const struct trace_end *trace_reader_end(const struct trace_reader *r) {
    return r->has_end ? &r->end : NULL;
}

struct trace_part_range trace_reader_parts(const struct trace_reader *r) {
    return (struct trace_part_range){r->first_part, r->part, !r->has_end || !r->end.goes_on};
}

uint64_t trace_reader_file_bytes(const struct trace_reader *r) { return r->size; }
size_t trace_reader_process_count(const struct trace_reader *r) { return r->processes.count; }

const struct trace_process *trace_reader_process(const struct trace_reader *r, size_t i) {
    return i < r->processes.count ? &r->processes.at[i] : NULL;
}

size_t trace_reader_stream_count(const struct trace_reader *r) { return r->threads.count; }

uint64_t trace_reader_first_ticks(const struct trace_reader *r, size_t stream) {
    size_t block = r->stream_first[stream], count;
    const struct trace_frames *frames = trace_reader_frames(r, (uint32_t)stream, &count);
    bool has_blocks = block < r->stream_first[stream + 1];
    uint64_t ticks = has_blocks ? r->blocks.at[block].block.first : UINT64_MAX;
    const struct trace_thread *t = &r->threads.at[stream];
    if (t->maker && has_blocks && t->start < ticks)
        return t->start;
    return count && frames->ticks < ticks ? frames->ticks : ticks;
}

size_t trace_reader_first_block(const struct trace_reader *r, size_t stream) {
    return r->stream_first[stream];
}

size_t trace_reader_end_block(const struct trace_reader *r, size_t stream) {
    return r->stream_first[stream + 1];
}

struct trace_block_facts trace_reader_block(const struct trace_reader *r, size_t block) {
    const struct disk_block *b = &r->blocks.at[block].block;
    return (struct trace_block_facts){b->first, b->last, b->items, b->entries, b->exits};
}

const struct trace_extent *trace_reader_extent(const struct trace_reader *r, size_t stream) {
    return stream < r->extents.count ? &r->extents.at[stream] : NULL;
}

/* Whether SP is on T's own stack. stack_high is included: there the stack is empty. */
static bool is_own_stack(const struct trace_thread *t, uint64_t sp) {
    return sp > t->stack_low && sp <= t->stack_high;
}

bool trace_reader_uses_other_stacks(const struct trace_reader *r, size_t stream) {
    const struct trace_thread *t = &r->threads.at[stream];
    const struct trace_extent *x = &r->extents.at[stream];
    if (stream >= r->extents.count)
        return true;
    if (x->high && (!is_own_stack(t, x->low) || !is_own_stack(t, x->high)))
        return true;
    size_t count;
    const struct trace_frames *frames = trace_reader_frames(r, (uint32_t)stream, &count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < frames[i].count; k++)
            if (!is_own_stack(t, frames[i].frames[k].sp))
                return true;
    return false;
}

bool trace_reader_has_inner_stacks(const struct trace_reader *r, size_t stream) {
    const struct trace_thread *t = &r->threads.at[stream];
    return t->stack_high > t->stack_low &&
           (stream >= r->extents.count || r->extents.at[stream].inner_stacks);
}

bool trace_reader_has_stack_events(const struct trace_reader *r, size_t stream) {
    const struct trace_extent *x = &r->extents.at[stream];
    return stream < r->extents.count && x->low == 0 && x->high == UINT64_MAX;
}

const struct trace_thread *trace_reader_thread(const struct trace_reader *r, size_t stream) {
    return stream < r->threads.count ? &r->threads.at[stream] : NULL;
}

size_t trace_reader_module_count(const struct trace_reader *r) { return r->modules.count; }

const struct trace_module *trace_reader_module(const struct trace_reader *r, size_t i) {
    return i < r->modules.count ? &r->modules.at[i] : NULL;
}

size_t trace_reader_map_count(const struct trace_reader *r) { return r->maps.count; }

const struct trace_map *trace_reader_map(const struct trace_reader *r, size_t i) {
    return i < r->maps.count ? &r->maps.at[i] : NULL;
}

const struct trace_frames *trace_reader_frames(const struct trace_reader *r, uint32_t stream,
                                               size_t *ret_count) {
    size_t first = SEARCH(i, r->frames.count, r->frames.at[i].stream < stream), end = first;
    while (end < r->frames.count && r->frames.at[end].stream == stream)
        end++;
    *ret_count = end - first;
    return r->frames.at + first;
}

void trace_reader_name_function(struct trace_reader *r, size_t module, uint32_t i,
                                const char *name) {
    char *copy = mem_strdup(name);
    ARRAY_PUSH(&r->payloads, (uint8_t *)copy);
    r->tables.at[module].at[i].name = copy;
}

size_t trace_reader_death_count(const struct trace_reader *r) { return r->deaths.count; }

const struct trace_death *trace_reader_death(const struct trace_reader *r, size_t i) {
    return i < r->deaths.count ? &r->deaths.at[i] : NULL;
}

size_t trace_reader_change_count(const struct trace_reader *r) { return r->changes.count; }

const struct trace_change *trace_reader_change(const struct trace_reader *r, size_t i) {
    return i < r->changes.count ? &r->changes.at[i] : NULL;
}

uint32_t trace_reader_chain_count(const struct trace_reader *r) {
    return r->chains.count > CHAIN_FIRST ? (uint32_t)r->chains.count : CHAIN_FIRST;
}

bool trace_reader_chain(const struct trace_reader *r, uint32_t number, struct trace_chain *ret) {
    if (number < CHAIN_FIRST || number >= r->chains.count ||
        r->chains.at[number].place >= r->places.count)
        return false;
    *ret = r->chains.at[number];
    return true;
}

uint32_t trace_reader_place_count(const struct trace_reader *r) {
    return (uint32_t)r->places.count;
}

const struct trace_place *trace_reader_place(const struct trace_reader *r, uint32_t i) {
    return &r->places.at[i];
}

bool trace_reader_function(const struct trace_reader *r, uint32_t id,
                           const struct trace_module **ret_module,
                           const struct trace_function **ret_function) {
    /* The last module that begins at or before ID. */
    size_t end = SEARCH(i, r->by_id.count, r->modules.at[r->by_id.at[i]].first_id <= id);
    if (!end)
        return false;
    const struct trace_module *m = &r->modules.at[r->by_id.at[end - 1]];
    if (id - m->first_id >= m->function_count)
        return false;
    *ret_module = m;
    *ret_function = &m->functions[id - m->first_id];
    return true;
}

struct trace_counts trace_reader_counts(const struct trace_reader *r) {
    return r->counts;
}

struct trace_scale trace_reader_scale(const struct trace_reader *r) {
    return r->scale;
}

uint64_t trace_reader_ns(const struct trace_reader *r, uint64_t ticks) {
    return trace_scale_ns(&r->scale, ticks);
}

uint64_t trace_reader_ticks(const struct trace_reader *r, uint64_t ns) {
    uint64_t rest;
    struct wide scaled = wide_product(ns, (uint64_t)1 << SCALE_BITS);
    struct wide ticks = wide_quotient(scaled, r->scale.scale, &rest);
    uint64_t most = UINT64_MAX - r->scale.first;
    if (ticks.high || ticks.low > most || (rest && ticks.low == most))
        return UINT64_MAX;
    return r->scale.first + ticks.low + (rest != 0);
}

/* The writer writes all events that it has behind each clock, and blocks in order. So those of the
 * last clock but one are in the file, except for what rings held then. */
uint64_t trace_reader_settled(const struct trace_reader *r) {
    enum { IN_RINGS_NS = 50 * 1000 * 1000 };
    if (r->has_end)
        return UINT64_MAX;
    if (r->clocks.count < 2)
        return 0;
    uint64_t ns = trace_reader_ns(r, r->clocks.at[r->clocks.count - 2].ticks);
    return ns > IN_RINGS_NS ? trace_reader_ticks(r, ns - IN_RINGS_NS) : 0;
}

uint64_t trace_reader_duration_ns(const struct trace_reader *r) {
    return trace_reader_ns(r, r->last_ticks);
}

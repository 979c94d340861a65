/* Fills a reader's tables from metadata blocks. */
#include <string.h>

#include "trace/decode.h"
#include "trace/file.h"
#include "trace/part_set.h"
#include "trace/records.h"
#include "trace/type_table.h"

/* Limits decompressed metadata, so that a malicious file cannot exhaust memory. */
static bool payload_fits(const struct trace_reader *r, size_t size) {
    return r->payload_bytes + size <= 64 * 1024 * 1024 + 256 * r->size;
}

static bool load_session(struct trace_reader *r, struct fields *f) {
    struct trace_session session = {0};
    bool ok = fields_session(f, &session) && !r->has_session;
    if (ok) {
        free((void *)r->session.command);
        r->session = session;
        r->has_session = true;
    } else {
        free((void *)session.command);
    }
    return ok;
}

static bool load_thread(struct trace_reader *r, struct fields *f) {
    struct trace_thread thread;
    if (!fields_thread(f, &thread) || thread.stream >= file_blocks_max(r))
        return false;
    thread.stream = part_set_stream(r, thread.stream);
    if (thread.maker && thread.maker <= file_blocks_max(r))
        thread.maker = part_set_stream(r, thread.maker - 1) + 1;
    while (r->threads.count <= thread.stream)
        ARRAY_PUSH(&r->threads,
                   ((struct trace_thread){.stream = (uint32_t)r->threads.count, .name = ""}));
    r->threads.at[thread.stream] = thread;
    return true;
}

/* The newest module with FIRST_ID that has functions, or SIZE_MAX. A module without functions may
 * have the same first id as the next one. */
static size_t module_of(const struct trace_reader *r, uint32_t first_id) {
    size_t i = r->modules.count;
    while (i && (r->modules.at[i - 1].first_id != first_id || !r->modules.at[i - 1].function_count))
        i--;
    return i ? i - 1 : SIZE_MAX;
}

/* A later record of a module replaces the earlier one: more functions are instrumented. */
static bool load_module(struct trace_reader *r, struct fields *f) {
    struct trace_module module;
    if (!fields_module(f, &module)) {
        free((void *)module.refused);
        return false;
    }
    size_t known = module.function_count ? module_of(r, module.first_id) : SIZE_MAX;
    if (known == SIZE_MAX) {
        ARRAY_PUSH(&r->modules, module);
        ARRAY_PUSH(&r->tables, (function_table){0});
        return true;
    }
    free((void *)r->modules.at[known].refused);
    r->modules.at[known] = module;
    r->tables.at[known].count = 0;
    return true;
}

/* Counts the items COUNT … FIRST − 1 as missing: their block is damaged. False: FIRST is too small,
 * or more items than the file has bytes are missing. */
static bool count_missing(struct trace_reader *r, size_t count, uint32_t first) {
    if (first < count || first - count > r->size - r->missing)
        return false;
    r->missing += first - count;
    return true;
}

static bool fill_gap(struct trace_reader *r, function_table *table, uint32_t first) {
    if (!count_missing(r, table->count, first))
        return false;
    while (table->count < first)
        ARRAY_PUSH(table, (struct trace_function){0});
    return true;
}

static bool load_functions(struct trace_reader *r, struct fields *f) {
    struct functions_head head;
    size_t module = fields_functions(f, &head) ? module_of(r, head.first_id) : SIZE_MAX;
    if (module == SIZE_MAX)
        return false;
    uint32_t most = r->modules.at[module].function_count;
    function_table *table = &r->tables.at[module];
    if (head.first > most || head.count > most - head.first || !fill_gap(r, table, head.first))
        return false;
    uint64_t end = 0;
    struct trace_function function;
    for (uint32_t i = 0; i < head.count; i++) {
        if (!fields_function(f, &end, &function))
            return false;
        ARRAY_PUSH(table, function);
    }
    return true;
}

static bool load_frames(struct trace_reader *r, struct fields *f) {
    struct trace_frames frames;
    bool ok = fields_frames(f, &frames) && frames.stream < file_blocks_max(r);
    if (ok && part_set_repeats_frames(r)) {
        free((void *)frames.frames);
        return true;
    }
    r->payload_bytes += frames.count * sizeof *frames.frames;
    if (ok)
        frames.stream = part_set_stream(r, frames.stream);
    if (ok)
        ARRAY_PUSH(&r->frames, frames);
    else
        free((void *)frames.frames);
    return ok;
}

static bool load_chains(struct trace_reader *r, struct fields *f) {
    static const struct trace_place nowhere = {"", "", 0};
    uint32_t first = fields_bounded(f, DISK_CHAINS_MAX), count = fields_bounded(f, DISK_CHAINS_MAX);
    struct trace_place place;
    if (f->bad || !count_missing(r, r->places.count, first))
        return false;
    while (r->places.count < first)
        ARRAY_PUSH(&r->places, nowhere);
    for (uint32_t i = 0; i < count && fields_place(f, &place); i++)
        ARRAY_PUSH(&r->places, place);
    first = fields_bounded(f, DISK_CHAINS_MAX), count = fields_bounded(f, DISK_CHAINS_MAX);
    if (f->bad || first < CHAIN_FIRST || !count_missing(r, r->chains.count, first))
        return false;
    while (r->chains.count < first)
        ARRAY_PUSH(&r->chains, ((struct trace_chain){CHAIN_LOST, UINT32_MAX}));
    struct trace_chain chain;
    for (uint32_t i = 0; i < count && fields_chain(f, first + i, &chain); i++)
        ARRAY_PUSH(&r->chains, chain);
    return !f->bad;
}

/* In a set, streams have no events in files whose records do not have them. */
static struct trace_extent unknown_extent(const struct trace_reader *r) {
    bool any = !r->set;
    return (struct trace_extent){(uint32_t)r->extents.count, 0, any ? UINT64_MAX : 0, any};
}

static bool load_extents(struct trace_reader *r, struct fields *f) {
    uint32_t count = fields_bounded(f, DISK_EXTENTS_MAX);
    struct trace_extent extent;
    for (uint32_t i = 0; i < count; i++) {
        if (!fields_extent(f, &extent) || extent.stream >= file_blocks_max(r))
            return false;
        extent.stream = part_set_stream(r, extent.stream);
        while (r->extents.count <= extent.stream)
            ARRAY_PUSH(&r->extents, unknown_extent(r));
        part_set_add_extent(r, &extent);
        r->extents.at[extent.stream] = extent;
    }
    count = f->at < f->end ? fields_bounded(f, count) : 0;
    for (uint32_t i = 0; i < count && !f->bad; i++) {
        uint32_t stream = fields_bounded(f, (uint32_t)file_blocks_max(r));
        stream = part_set_stream(r, stream);
        if (stream >= r->extents.count)
            return false;
        r->extents.at[stream].inner_stacks = true;
    }
    return !f->bad;
}

static bool load_death(struct trace_reader *r, struct fields *f) {
    struct trace_death death;
    bool ok = fields_death(f, &death);
    if (ok)
        ARRAY_PUSH(&r->deaths, death);
    else
        free((void *)death.frames);
    return ok;
}

static bool load_end(struct trace_reader *r, struct fields *f) {
    struct trace_end end;
    bool ok = fields_end(f, &end);
    if (ok)
        part_set_add_end(r, &end);
    return ok;
}

static bool load_part(struct trace_reader *r, struct fields *f) {
    struct trace_part part;
    bool ok = fields_part(f, &part);
    if (ok)
        part_set_continue(r, &part);
    free((void *)part.before);
    return ok;
}

static bool load_record(struct trace_reader *r, unsigned type, struct fields *f) {
    struct trace_clock clock;
    struct trace_process process;
    struct trace_map map;
    struct trace_change change;
    switch (type) {
    case DISK_SESSION:
        return load_session(r, f);
    case DISK_CLOCK:
        if (!fields_clock(f, &clock))
            return false;
        ARRAY_PUSH(&r->clocks, clock);
        return true;
    case DISK_PROCESS:
        if (!fields_process(f, &process))
            return false;
        ARRAY_PUSH(&r->processes, process);
        return true;
    case DISK_THREAD:
        return load_thread(r, f);
    case DISK_MODULE:
        return load_module(r, f);
    case DISK_FUNCTIONS:
        return load_functions(r, f);
    case DISK_MAP:
        if (!fields_map(f, &map))
            return false;
        ARRAY_PUSH(&r->maps, map);
        return true;
    case DISK_CHANGE:
        if (!fields_change(f, &change))
            return false;
        ARRAY_PUSH(&r->changes, change);
        return true;
    case DISK_END:
        return load_end(r, f);
    case DISK_PART:
        return load_part(r, f);
    case DISK_FRAMES:
        return load_frames(r, f);
    case DISK_EXTENTS:
        return load_extents(r, f);
    case DISK_CHAINS:
        return load_chains(r, f);
    case DISK_DEATH:
        return load_death(r, f);
    case DISK_CAPTURES:
        return captures_load(r, f);
    case DISK_TYPES:
        return type_table_load(f, r->types);
    default:
        return true; /* of a later version */
    }
}

/* Loads one metadata block and keeps its payload. False: damaged. */
static bool load_block(struct trace_reader *r, const struct disk_index_entry *entry) {
    struct bytes payload = {0};
    if (entry->block.type < DISK_SESSION ||
        (entry->block.type > DISK_CHAINS && entry->block.type != DISK_CAPTURES &&
         entry->block.type != DISK_TYPES && entry->block.type != DISK_DEATH &&
         entry->block.type != DISK_PART))
        return true;
    part_set_load(r, entry);
    if (!payload_fits(r, entry->block.raw) || !unpack(r, entry, &payload)) {
        free(payload.at);
        return false;
    }
    r->payload_bytes += payload.count;
    ARRAY_PUSH(&r->payloads, payload.at);
    struct fields f = {payload.at, payload.at + payload.count, false};
    return load_record(r, entry->block.type, &f);
}

void load_metadata(struct trace_reader *r) {
    for (size_t i = 0; i < r->blocks.count; i++)
        if (r->blocks.at[i].block.type != DISK_EVENTS && !load_block(r, &r->blocks.at[i]))
            r->damaged_blocks++;
    for (size_t i = 0; i < r->modules.count; i++) {
        r->modules.at[i].functions = r->tables.at[i].at;
        r->modules.at[i].function_count = (uint32_t)r->tables.at[i].count;
        if (r->tables.at[i].count)
            ARRAY_PUSH(&r->by_id, (uint32_t)i);
    }
}

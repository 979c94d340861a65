/* Finds the parts of a recording, and joins their blocks and streams. */
#include "trace/part_set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/old_parts.h"
#include "trace/records.h"

enum { NO_STREAM = UINT32_MAX };

struct set_file {
    int fd;
    ARRAY(uint32_t) joined; /* by stream in the file: in the set; NO_STREAM: not seen so far */
    ARRAY(uint32_t) own;    /* by stream in the set: in the file */
    bool has_extents;
};

struct part_set {
    ARRAY(struct set_file) files; /* from the oldest to the newest */
    uint32_t loading;             /* the file whose records are loaded */
    uint32_t streams;
    bool numbered; /* event blocks have the set's numbers of streams */
};

typedef ARRAY(size_t) block_numbers;

/* ---- finding the parts ---- */

/* The record of ENTRY, whose `before` is to be freed. False: it is damaged. */
static bool read_part(struct trace_reader *r, const struct disk_index_entry *entry,
                      struct trace_part *ret) {
    struct bytes payload = {0};
    bool ok = unpack(r, entry, &payload) &&
              fields_part(&(struct fields){payload.at, payload.at + payload.count, false}, ret);
    free(payload.at);
    return ok;
}

/* The index behind what R's file repeats; SIZE_MAX: that is not known. The first part repeats
 * nothing. Sets r->part. */
static size_t skip_repeated(struct trace_reader *r) {
    size_t end = SIZE_MAX;
    for (size_t i = 0; i < r->blocks.count && end == SIZE_MAX; i++) {
        struct trace_part part = {0};
        if (r->blocks.at[i].block.type != DISK_PART || !read_part(r, &r->blocks.at[i], &part))
            continue;
        r->part = part.number;
        if (part.repeated)
            end = i;
        free((void *)part.before);
    }
    return end == SIZE_MAX && !r->indexed ? r->blocks.count : end;
}

/* PATH without ".part", or NULL if it ends with the part's number, and so names only that. To be
 * freed. */
static char *name_of_set(const char *path, uint32_t part) {
    AUTO_FREE char *number = mem_printf(".%u", part);
    AUTO_FREE char *name = mem_strdup(path);
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".part") == 0)
        name[length -= 5] = '\0';
    size_t digits = strlen(number);
    if (length > digits && strcmp(name + length - digits, number) == 0)
        return NULL;
    return steal(name);
}

/* Opens PATH into *FOUND, and finds its blocks. False: it is not that part. */
static bool open_file(const char *path, struct part_file wanted, struct trace_reader *found) {
    struct stat st;
    struct part_file facts = part_file_read(path);
    if (facts.number != wanted.number || facts.session != wanted.session)
        return false;
    *found = (struct trace_reader){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (found->fd >= 0 && !fstat(found->fd, &st)) {
        found->size = (uint64_t)st.st_size;
        found->path = mem_strdup(path);
        unpack_pool_init(&found->pool);
        if (!scan_file(found, NULL))
            return true;
        unpack_pool_done(&found->pool);
        free(found->path);
    }
    if (found->fd >= 0)
        close(found->fd);
    ARRAY_FREE(&found->blocks);
    return false;
}

/* The same for part WANTED of the set NAME. It has another name until it is complete. */
static bool open_part(const char *name, struct part_file wanted, struct trace_reader *found) {
    AUTO_FREE char *path = mem_printf("%s.%u", name, wanted.number);
    AUTO_FREE char *unfinished = mem_printf("%s.part", path);
    return open_file(path, wanted, found) || open_file(unfinished, wanted, found);
}

/* ---- joining them ---- */

typedef ARRAY(struct disk_index_entry) block_list;

/* Adds FILE as the newest so far, with its blocks from index FROM on. */
static void add_file(struct trace_reader *r, block_list *blocks, struct trace_reader *file,
                     size_t from) {
    struct part_set *s = r->set;
    uint64_t tag = (uint64_t)s->files.count << SET_OFFSET_BITS;
    ARRAY_PUSH(&s->files, ((struct set_file){.fd = file->fd}));
    for (size_t i = from; i < file->blocks.count; i++) {
        struct disk_index_entry entry = file->blocks.at[i];
        entry.offset |= tag;
        ARRAY_PUSH(blocks, entry);
    }
    ARRAY_FREE(&file->blocks);
}

/* The newest part that is missing between two that are there; 0: none is. NUMBER is missing. */
static uint32_t find_missing(const char *name, struct part_file missing) {
    enum { TRIES = 1000 };
    for (uint32_t n = missing.number; n-- > 1 && missing.number - n < TRIES;) {
        AUTO_FREE char *path = mem_printf("%s.%u", name, n);
        struct part_file file = part_file_read(path);
        if (file.number == n && file.session == missing.session)
            return missing.number;
    }
    return 0;
}

typedef ARRAY(struct trace_reader) file_list; /* the newest first */

/* Opens the parts before R's, as far as they follow one another. FROM: of each, where that begins
 * which the parts before do not say. */
static void open_parts(struct trace_reader *r, const char *name, file_list *files,
                       block_numbers *from) {
    struct part_file wanted = part_file_read(r->path);
    while (wanted.number > 1 && files->count < SET_FILES_MAX) {
        struct trace_reader file;
        wanted.number--;
        if (!open_part(name, wanted, &file)) {
            r->missing_part = find_missing(name, wanted);
            return;
        }
        size_t behind = skip_repeated(&file);
        ARRAY_PUSH(files, file);
        ARRAY_PUSH(from, behind);
        r->first_part = wanted.number;
        if (behind == SIZE_MAX)
            return;
    }
}

static void take_over(struct trace_reader *r, block_list *blocks, struct trace_reader *file,
                      size_t from) {
    add_file(r, blocks, file, from);
    r->size += file->size;
    r->damaged_blocks += file->damaged_blocks;
    r->skipped_bytes += file->skipped_bytes;
    unpack_pool_done(&file->pool);
    free(file->path);
}

void part_set_join(struct trace_reader *r) {
    size_t behind = skip_repeated(r);
    r->first_part = r->part;
    if (r->part < 2 || behind == SIZE_MAX)
        return;
    AUTO_FREE char *name = name_of_set(r->path, r->part);
    file_list files = {0};
    block_numbers from = {0};
    if (name)
        open_parts(r, name, &files, &from);
    if (files.count) {
        block_list blocks = {0};
        struct trace_reader newest = {.fd = r->fd};
        ARRAY_MOVE(&newest.blocks, &r->blocks);
        r->set = mem_alloc(sizeof *r->set);
        for (size_t i = files.count; i-- > 0;)
            take_over(r, &blocks, &files.at[i], i + 1 == files.count ? 0 : from.at[i]);
        add_file(r, &blocks, &newest, behind);
        ARRAY_MOVE(&r->blocks, &blocks);
    }
    ARRAY_FREE(&files);
    ARRAY_FREE(&from);
}

void part_set_free(struct part_set *s) {
    if (!s)
        return;
    for (size_t i = 0; i < s->files.count; i++) {
        if (i + 1 < s->files.count) /* the newest is the reader's own */
            close(s->files.at[i].fd);
        ARRAY_FREE(&s->files.at[i].joined);
        ARRAY_FREE(&s->files.at[i].own);
    }
    ARRAY_FREE(&s->files);
    free(s);
}

struct part_set_place part_set_place(const struct trace_reader *r, uint64_t offset) {
    if (!r->set)
        return (struct part_set_place){r->fd, offset};
    uint64_t mask = ((uint64_t)1 << SET_OFFSET_BITS) - 1;
    return (struct part_set_place){r->set->files.at[offset >> SET_OFFSET_BITS].fd, offset & mask};
}

/* ---- streams ---- */

uint32_t part_set_stream_in_file(const struct trace_reader *r,
                                 const struct disk_index_entry *entry) {
    uint32_t stream = entry->block.stream;
    if (!r->set || !r->set->numbered)
        return stream;
    const struct set_file *f = &r->set->files.at[entry->offset >> SET_OFFSET_BITS];
    return stream < f->own.count ? f->own.at[stream] : stream;
}

static void join_stream(struct set_file *f, uint32_t own, uint32_t joined) {
    while (f->joined.count <= own)
        ARRAY_PUSH(&f->joined, NO_STREAM);
    while (f->own.count <= joined)
        ARRAY_PUSH(&f->own, NO_STREAM);
    f->joined.at[own] = joined;
    f->own.at[joined] = own;
}

static uint32_t stream_of(struct part_set *s, uint32_t file, uint32_t stream) {
    struct set_file *f = &s->files.at[file];
    if (stream >= f->joined.count || f->joined.at[stream] == NO_STREAM)
        join_stream(f, stream, s->streams++);
    return f->joined.at[stream];
}

uint32_t part_set_stream(struct trace_reader *r, uint32_t stream) {
    return r->set ? stream_of(r->set, r->set->loading, stream) : stream;
}

void part_set_continue(struct trace_reader *r, const struct trace_part *part) {
    struct part_set *s = r->set;
    if (!s || !s->loading || !part->repeated)
        return;
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t before = part->before[i];
        if (before && before <= file_blocks_max(r))
            join_stream(&s->files.at[s->loading], i, stream_of(s, s->loading - 1, before - 1));
    }
}

void part_set_number_blocks(struct trace_reader *r) {
    struct part_set *s = r->set;
    if (!s)
        return;
    for (size_t i = 0; i < r->blocks.count; i++) {
        struct disk_index_entry *entry = &r->blocks.at[i];
        if (entry->block.type == DISK_EVENTS || entry->block.type == DISK_VALUES)
            entry->block.stream =
                stream_of(s, (uint32_t)(entry->offset >> SET_OFFSET_BITS), entry->block.stream);
    }
    s->numbered = true;
    for (size_t i = 0; i < s->files.count; i++)
        if (!s->files.at[i].has_extents) /* it is incomplete: they are not known */
            r->extents.count = 0;
}

/* ---- records ---- */

void part_set_load(struct trace_reader *r, const struct disk_index_entry *entry) {
    if (!r->set)
        return;
    uint32_t file = (uint32_t)(entry->offset >> SET_OFFSET_BITS);
    if (file != r->set->loading)
        r->has_end = false;
    r->set->loading = file;
    r->set->files.at[file].has_extents |= entry->block.type == DISK_EXTENTS;
}

bool part_set_repeats_frames(const struct trace_reader *r) {
    const struct part_set *s = r->set;
    return s && s->loading + 1 < s->files.count && s->files.at[s->loading].has_extents;
}

void part_set_add_end(struct trace_reader *r, const struct trace_end *end) {
    struct trace_end sum = *end;
    if (r->set && r->set->loading) {
        sum.missed += r->end.missed;
        sum.pauses.count += r->end.pauses.count;
        for (int i = 0; i < PAUSE_CAUSES; i++)
            sum.pauses.ticks[i] += r->end.pauses.ticks[i];
        if (r->end.waiting_bytes > sum.waiting_bytes)
            sum.waiting_bytes = r->end.waiting_bytes;
    }
    r->end = sum;
    r->has_end = true;
}

void part_set_add_extent(struct trace_reader *r, struct trace_extent *extent) {
    if (!r->set || extent->stream >= r->extents.count)
        return;
    const struct trace_extent *before = &r->extents.at[extent->stream];
    bool any = extent->high, had = before->high;
    if (had && (!any || before->low < extent->low))
        extent->low = before->low;
    if (before->high > extent->high)
        extent->high = before->high;
    extent->inner_stacks |= before->inner_stacks;
}

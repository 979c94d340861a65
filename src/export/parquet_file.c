/* See parquet.h. Pages are encoded and compressed as rows come; a row group waits in memory, as a
 * column's dictionary comes before its pages. */
#include "export/parquet_file.h"

#include <errno.h>
#include <zstd.h>

#include "export/parquet_encode.h"

enum { ZSTD_LEVEL = 3 };
/* parquet.thrift: Type, Encoding, CompressionCodec, PageType, FieldRepetitionType, ConvertedType.
 */
enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum { CODEC_ZSTD = 6, PAGE_DATA = 0, PAGE_DICTIONARY = 2, UTF8 = 0 };

struct chunk {                  /* a column of a row group */
    uint64_t at, dictionary_at; /* of pages, in the file; dictionary_at 0: none */
    uint64_t raw, packed;       /* bytes, with headers of pages */
};

struct group {
    uint64_t rows;
    struct chunk *chunks; /* by column */
};

struct writer {       /* of a column */
    uint64_t *values; /* of the present page, without nulls */
    uint64_t *set;    /* by row of the page: 1, or 0 for null; only if the column is optional */
    size_t count;
    uint32_t *entries;    /* 1 + the dictionary's entry, by value; 0: none yet */
    ARRAY(uint32_t) keys; /* values, by entry */
    byte_array texts;     /* PARQUET_PLAIN: of the present page */
    byte_array pages;
    uint64_t raw;
};

struct parquet {
    struct out *out;
    const struct parquet_column *columns;
    size_t column_count;
    void *ctx;
    struct writer *writers; /* by column */
    size_t page_rows;
    uint64_t group_rows, rows;
    uint64_t at; /* bytes written */
    ARRAY(struct group) groups;
    byte_array raw, packed; /* scratch */
    ZSTD_CCtx *zstd;
};

static void emit(struct parquet *p, const void *bytes, size_t size) {
    if (!size)
        return;
    out_text(p->out, bytes, size);
    p->at += size;
}

struct parquet *parquet_new(struct out *out, const struct parquet_column *columns, size_t count,
                            void *ctx) {
    struct parquet *p = mem_alloc(sizeof *p);
    *p = (struct parquet){.out = out, .columns = columns, .column_count = count, .ctx = ctx};
    p->writers = mem_alloc(count * sizeof *p->writers);
    p->zstd = ZSTD_createCCtx();
    for (size_t i = 0; i < count; i++) {
        struct writer *w = &p->writers[i];
        w->values = mem_alloc(PARQUET_PAGE_ROWS * sizeof *w->values);
        if (columns[i].optional)
            w->set = mem_alloc(PARQUET_PAGE_ROWS * sizeof *w->set);
        if (columns[i].type == PARQUET_TEXT)
            w->entries = mem_alloc((columns[i].keys + 1) * sizeof *w->entries);
    }
    emit(p, "PAR1", 4);
    return p;
}

/* ---- pages ---- */

struct page {
    int kind, encoding;
    size_t values; /* nulls included */
};

/* Appends p->raw as a page to TO. Returns the bytes that it would have uncompressed. */
static uint64_t add_page(struct parquet *p, byte_array *to, struct page page) {
    size_t before = to->count, bound = ZSTD_compressBound(p->raw.count);
    ARRAY_RESERVE(&p->packed, bound);
    size_t size =
        ZSTD_compressCCtx(p->zstd, p->packed.at, bound, p->raw.at, p->raw.count, ZSTD_LEVEL);
    if (ZSTD_isError(size)) { /* out of memory */
        p->out->error = p->out->error ? p->out->error : ENOMEM;
        return 0;
    }
    struct thrift header = {to, 0};
    thrift_int(&header, 1, page.kind);
    thrift_int(&header, 2, (int32_t)p->raw.count);
    thrift_int(&header, 3, (int32_t)size);
    struct thrift inner = thrift_begin(&header, page.kind == PAGE_DATA ? 5 : 7);
    thrift_int(&inner, 1, (int32_t)page.values);
    thrift_int(&inner, 2, page.encoding);
    if (page.kind == PAGE_DATA) {
        thrift_int(&inner, 3, ENCODING_RLE);
        thrift_int(&inner, 4, ENCODING_RLE);
    }
    thrift_end(&inner);
    thrift_end(&header);
    uint64_t raw = to->count - before + p->raw.count;
    bytes_add(to, p->packed.at, size);
    return raw;
}

static int encoding_of(enum parquet_type type) {
    return type == PARQUET_NUMBER ? ENCODING_DELTA
           : type == PARQUET_TEXT ? ENCODING_DICTIONARY
                                  : ENCODING_PLAIN;
}

static bool is_text(enum parquet_type type) {
    return type == PARQUET_TEXT || type == PARQUET_PLAIN;
}

static void encode_values(struct parquet *p, enum parquet_type type, const struct writer *w) {
    if (type == PARQUET_NUMBER) {
        encode_deltas(&p->raw, w->values, w->count);
    } else if (type == PARQUET_BOOL) {
        encode_bits(&p->raw, w->values, w->count);
    } else if (type == PARQUET_PLAIN) {
        bytes_add(&p->raw, w->texts.at, w->texts.count);
    } else {
        unsigned width = encode_width(w->keys.count ? w->keys.count - 1 : 0);
        uint8_t first = (uint8_t)(width ? width : 1);
        bytes_add(&p->raw, &first, 1);
        encode_hybrid(&p->raw, w->values, w->count, first);
    }
}

static void end_page(struct parquet *p, size_t column) {
    struct writer *w = &p->writers[column];
    enum parquet_type type = p->columns[column].type;
    uint32_t length = 0;
    p->raw.count = 0;
    if (w->set) {
        bytes_add(&p->raw, &length, sizeof length);
        encode_hybrid(&p->raw, w->set, p->page_rows, 1);
        length = (uint32_t)(p->raw.count - sizeof length);
        memcpy(p->raw.at, &length, sizeof length);
    }
    encode_values(p, type, w);
    w->raw += add_page(p, &w->pages, (struct page){PAGE_DATA, encoding_of(type), p->page_rows});
    w->count = 0;
    w->texts.count = 0;
}

static void end_pages(struct parquet *p) {
    for (size_t i = 0; i < p->column_count && p->page_rows; i++)
        end_page(p, i);
    p->page_rows = 0;
}

/* ---- row groups ---- */

static void add_dictionary(struct parquet *p, size_t column, byte_array *to, struct chunk *chunk) {
    struct writer *w = &p->writers[column];
    p->raw.count = 0;
    for (size_t i = 0; i < w->keys.count; i++)
        encode_text(&p->raw, p->columns[column].text(p->ctx, w->keys.at[i]));
    chunk->dictionary_at = p->at;
    chunk->raw += add_page(p, to, (struct page){PAGE_DICTIONARY, ENCODING_PLAIN, w->keys.count});
    for (size_t i = 0; i < w->keys.count; i++)
        w->entries[w->keys.at[i]] = 0;
    w->keys.count = 0;
}

static void write_chunk(struct parquet *p, size_t column, struct chunk *chunk) {
    struct writer *w = &p->writers[column];
    byte_array dictionary = {0};
    uint64_t begin = p->at;
    *chunk = (struct chunk){.raw = w->raw};
    if (p->columns[column].type == PARQUET_TEXT)
        add_dictionary(p, column, &dictionary, chunk);
    emit(p, dictionary.at, dictionary.count);
    chunk->at = p->at;
    emit(p, w->pages.at, w->pages.count);
    chunk->packed = p->at - begin;
    w->pages.count = 0;
    w->raw = 0;
    ARRAY_FREE(&dictionary);
}

static void end_group(struct parquet *p) {
    struct group group = {.rows = p->group_rows};
    end_pages(p);
    if (!group.rows)
        return;
    group.chunks = mem_alloc(p->column_count * sizeof *group.chunks);
    for (size_t i = 0; i < p->column_count; i++)
        write_chunk(p, i, &group.chunks[i]);
    ARRAY_PUSH(&p->groups, group);
    p->group_rows = 0;
}

/* ---- rows ---- */

void parquet_set(struct parquet *p, size_t column, uint64_t value) {
    struct writer *w = &p->writers[column];
    if (w->set)
        w->set[p->page_rows] = 1;
    if (w->entries) {
        if (!w->entries[value]) {
            ARRAY_PUSH(&w->keys, (uint32_t)value);
            w->entries[value] = (uint32_t)w->keys.count;
        }
        value = w->entries[value] - 1;
    }
    w->values[w->count++] = value;
}

void parquet_set_text(struct parquet *p, size_t column, const char *text) {
    struct writer *w = &p->writers[column];
    if (w->set)
        w->set[p->page_rows] = 1;
    encode_text(&w->texts, text);
}

void parquet_set_null(struct parquet *p, size_t column) {
    p->writers[column].set[p->page_rows] = 0;
}

/* All columns end their pages together. */
static bool has_long_page(const struct parquet *p) {
    bool found = false;
    for (size_t i = 0; i < p->column_count; i++)
        found |= p->writers[i].texts.count > PARQUET_PAGE_BYTES;
    return found;
}

void parquet_end_row(struct parquet *p) {
    p->rows++;
    p->group_rows++;
    if (++p->page_rows == PARQUET_PAGE_ROWS || has_long_page(p))
        end_pages(p);
    if (p->group_rows == PARQUET_GROUP_ROWS)
        end_group(p);
}

/* ---- the footer ---- */

static int type_of(enum parquet_type type) {
    return type == PARQUET_NUMBER ? TYPE_INT64 : is_text(type) ? TYPE_BYTE_ARRAY : TYPE_BOOLEAN;
}

static void add_schema(struct thrift *footer, const struct parquet *p) {
    thrift_list(footer, 2, THRIFT_STRUCT, p->column_count + 1);
    struct thrift root = thrift_begin(footer, 0);
    thrift_text(&root, 4, "calls");
    thrift_int(&root, 5, (int32_t)p->column_count);
    thrift_end(&root);
    for (size_t i = 0; i < p->column_count; i++) {
        const struct parquet_column *c = &p->columns[i];
        struct thrift element = thrift_begin(footer, 0);
        thrift_int(&element, 1, type_of(c->type));
        thrift_int(&element, 3, c->optional);
        thrift_text(&element, 4, c->name);
        if (is_text(c->type)) {
            thrift_int(&element, 6, UTF8);
            struct thrift logical = thrift_begin(&element, 10);
            struct thrift string = thrift_begin(&logical, 1);
            thrift_end(&string);
            thrift_end(&logical);
        }
        thrift_end(&element);
    }
}

static void add_chunk(struct thrift *list, const struct parquet *p, const struct group *group,
                      size_t column) {
    const struct chunk *c = &group->chunks[column];
    enum parquet_type type = p->columns[column].type;
    struct thrift chunk = thrift_begin(list, 0);
    thrift_number(&chunk, 2, 0);
    struct thrift meta = thrift_begin(&chunk, 3);
    thrift_int(&meta, 1, type_of(type));
    thrift_list(&meta, 2, THRIFT_INT, type == PARQUET_TEXT ? 3 : 2);
    thrift_add_int(&meta, encoding_of(type));
    thrift_add_int(&meta, ENCODING_RLE);
    if (type == PARQUET_TEXT)
        thrift_add_int(&meta, ENCODING_PLAIN);
    thrift_list(&meta, 3, THRIFT_TEXT, 1);
    thrift_add_text(&meta, p->columns[column].name);
    thrift_int(&meta, 4, CODEC_ZSTD);
    thrift_number(&meta, 5, (int64_t)group->rows);
    thrift_number(&meta, 6, (int64_t)c->raw);
    thrift_number(&meta, 7, (int64_t)c->packed);
    thrift_number(&meta, 9, (int64_t)c->at);
    if (type == PARQUET_TEXT)
        thrift_number(&meta, 11, (int64_t)c->dictionary_at);
    thrift_end(&meta);
    thrift_end(&chunk);
}

static void add_group(struct thrift *footer, const struct parquet *p, const struct group *group) {
    struct thrift element = thrift_begin(footer, 0);
    uint64_t raw = 0;
    thrift_list(&element, 1, THRIFT_STRUCT, p->column_count);
    for (size_t i = 0; i < p->column_count; i++) {
        add_chunk(&element, p, group, i);
        raw += group->chunks[i].raw;
    }
    thrift_number(&element, 2, (int64_t)raw);
    thrift_number(&element, 3, (int64_t)group->rows);
    thrift_end(&element);
}

static void write_footer(struct parquet *p, const char *key, const char *text) {
    byte_array bytes = {0};
    struct thrift footer = {&bytes, 0};
    thrift_int(&footer, 1, 1);
    add_schema(&footer, p);
    thrift_number(&footer, 3, (int64_t)p->rows);
    thrift_list(&footer, 4, THRIFT_STRUCT, p->groups.count);
    for (size_t i = 0; i < p->groups.count; i++)
        add_group(&footer, p, &p->groups.at[i]);
    thrift_list(&footer, 5, THRIFT_STRUCT, 1);
    struct thrift pair = thrift_begin(&footer, 0);
    thrift_text(&pair, 1, key);
    thrift_text(&pair, 2, text);
    thrift_end(&pair);
    thrift_text(&footer, 6, "spoor version " SPOOR_VERSION);
    thrift_end(&footer);
    uint32_t length = (uint32_t)bytes.count;
    emit(p, bytes.at, bytes.count);
    emit(p, &length, sizeof length);
    emit(p, "PAR1", 4);
    ARRAY_FREE(&bytes);
}

void parquet_finish(struct parquet *p, const char *key, const char *text) {
    end_group(p);
    write_footer(p, key, text);
    for (size_t i = 0; i < p->column_count; i++) {
        free(p->writers[i].values);
        free(p->writers[i].set);
        free(p->writers[i].entries);
        ARRAY_FREE(&p->writers[i].keys);
        ARRAY_FREE(&p->writers[i].texts);
        ARRAY_FREE(&p->writers[i].pages);
    }
    for (size_t i = 0; i < p->groups.count; i++)
        free(p->groups.at[i].chunks);
    ARRAY_FREE(&p->groups);
    ARRAY_FREE(&p->raw);
    ARRAY_FREE(&p->packed);
    ZSTD_freeCCtx(p->zstd);
    free(p->writers);
    free(p);
}

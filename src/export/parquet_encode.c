/* See parquet_encode.h. */
#include "export/parquet_encode.h"

#include <string.h>

#include "base/utf8.h"

void bytes_add(byte_array *to, const void *bytes, size_t size) {
    ARRAY_RESERVE(to, to->count + size);
    if (size)
        memcpy(to->at + to->count, bytes, size);
    to->count += size;
}

static void add_byte(byte_array *to, uint8_t byte) { ARRAY_PUSH(to, byte); }

/* ULEB128 */
static void add_varint(byte_array *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        add_byte(to, (uint8_t)(value | 0x80));
    add_byte(to, (uint8_t)value);
}

static uint64_t zigzag(uint64_t value) { return value << 1 ^ (value >> 63 ? UINT64_MAX : 0); }

/* ---- packed bits ---- */

/* Appends COUNT values of WIDTH bits, the lowest bits first. COUNT is a multiple of 8. */
static void pack(byte_array *to, const uint64_t *values, size_t count, unsigned width) {
    uint64_t word = 0;
    unsigned used = 0; /* bits of WORD */
    ARRAY_RESERVE(to, to->count + count * width / 8);
    for (size_t i = 0; i < count && width; i++) {
        word |= values[i] << used;
        used += width;
        if (used < 64)
            continue;
        bytes_add(to, &word, sizeof word);
        used -= 64;
        word = used ? values[i] >> (width - used) : 0;
    }
    bytes_add(to, &word, used / 8);
}

unsigned encode_width(uint64_t value) { return value ? 64 - (unsigned)__builtin_clzll(value) : 0; }

static bool are_equal(const uint64_t *values, size_t count) {
    size_t i = 1;
    while (i < count && values[i] == values[0])
        i++;
    return i >= count;
}

void encode_hybrid(byte_array *to, const uint64_t *values, size_t count, unsigned width) {
    uint64_t rest[8] = {0};
    size_t whole = count & ~(size_t)7;
    if (!count)
        return;
    if (are_equal(values, count)) {
        add_varint(to, (uint64_t)count << 1);
        bytes_add(to, values, (width + 7) / 8);
        return;
    }
    add_varint(to, (count + 7) / 8 << 1 | 1);
    pack(to, values, whole, width);
    memcpy(rest, values + whole, (count - whole) * sizeof *values);
    if (whole < count)
        pack(to, rest, 8, width);
}

void encode_bits(byte_array *to, const uint64_t *values, size_t count) {
    uint64_t rest[8] = {0};
    size_t whole = count & ~(size_t)7;
    pack(to, values, whole, 1);
    memcpy(rest, values + whole, (count - whole) * sizeof *values);
    if (whole < count)
        pack(to, rest, 8, 1);
}

/* ---- deltas ---- */

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS };

/* A block of COUNT deltas; DELTAS has room for BLOCK. */
static void encode_block(byte_array *to, uint64_t *deltas, size_t count) {
    unsigned widths[MINIBLOCKS] = {0};
    int64_t least = (int64_t)deltas[0];
    for (size_t i = 1; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (size_t i = 0; i < BLOCK; i++) {
        deltas[i] = i < count ? deltas[i] - (uint64_t)least : 0;
        unsigned width = encode_width(deltas[i]), *most = &widths[i / MINIBLOCK];
        *most = width > *most ? width : *most;
    }
    add_varint(to, zigzag((uint64_t)least));
    for (int i = 0; i < MINIBLOCKS; i++)
        add_byte(to, (uint8_t)widths[i]);
    for (size_t i = 0; i < MINIBLOCKS && i * MINIBLOCK < count; i++)
        pack(to, deltas + i * MINIBLOCK, MINIBLOCK, widths[i]);
}

void encode_deltas(byte_array *to, const uint64_t *values, size_t count) {
    uint64_t deltas[BLOCK];
    add_varint(to, BLOCK);
    add_varint(to, MINIBLOCKS);
    add_varint(to, count);
    add_varint(to, zigzag(count ? values[0] : 0));
    for (size_t i = 1; i < count; i += BLOCK) {
        size_t n = count - i < BLOCK ? count - i : BLOCK;
        for (size_t k = 0; k < n; k++)
            deltas[k] = values[i + k] - values[i + k - 1];
        encode_block(to, deltas, n);
    }
}

/* ---- texts ---- */

void encode_text(byte_array *to, const char *text) {
    AUTO_FREE char *valid = utf8_repair(text);
    uint32_t length = (uint32_t)strlen(valid);
    bytes_add(to, &length, sizeof length);
    bytes_add(to, valid, length);
}

/* ---- thrift ---- */

enum { THRIFT_NUMBER = 6, THRIFT_LIST = 9 };

static void add_field(struct thrift *t, int field, int kind) {
    int step = field - t->last;
    if (step > 0 && step <= 15) {
        add_byte(t->to, (uint8_t)(step << 4 | kind));
    } else {
        add_byte(t->to, (uint8_t)kind);
        add_varint(t->to, zigzag((uint64_t)field));
    }
    t->last = field;
}

void thrift_number(struct thrift *t, int field, int64_t value) {
    add_field(t, field, THRIFT_NUMBER);
    add_varint(t->to, zigzag((uint64_t)value));
}

void thrift_int(struct thrift *t, int field, int32_t value) {
    add_field(t, field, THRIFT_INT);
    thrift_add_int(t, value);
}

void thrift_text(struct thrift *t, int field, const char *text) {
    add_field(t, field, THRIFT_TEXT);
    thrift_add_text(t, text);
}

void thrift_list(struct thrift *t, int field, char kind, size_t count) {
    add_field(t, field, THRIFT_LIST);
    add_byte(t->to, (uint8_t)((count < 15 ? count : 15) << 4 | (unsigned)kind));
    if (count >= 15)
        add_varint(t->to, count);
}

struct thrift thrift_begin(struct thrift *t, int field) {
    if (field)
        add_field(t, field, THRIFT_STRUCT);
    return (struct thrift){t->to, 0};
}

void thrift_end(struct thrift *t) { add_byte(t->to, 0); }

void thrift_add_int(struct thrift *t, int32_t value) {
    add_varint(t->to, zigzag((uint64_t)(int64_t)value));
}

void thrift_add_text(struct thrift *t, const char *text) {
    add_varint(t->to, strlen(text));
    bytes_add(t->to, text, strlen(text));
}

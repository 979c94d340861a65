/* The encodings of Parquet files (parquet.h): they append to bytes. Private to parquet.c. */
#pragma once

#include "base/mem.h"
#include "base/types.h"

typedef ARRAY(uint8_t) byte_array;

void bytes_add(byte_array *to, const void *bytes, size_t size);

/* Encodings.md, "RLE/bit-packing hybrid": COUNT values of WIDTH bits. One run if all are equal,
 * else one of packed bits. */
void encode_hybrid(byte_array *to, const uint64_t *values, size_t count, unsigned width);
/* The bits that VALUE needs. */
unsigned encode_width(uint64_t value);
/* Encodings.md, DELTA_BINARY_PACKED, of 64-bit numbers. */
void encode_deltas(byte_array *to, const uint64_t *values, size_t count);
/* Encodings.md, PLAIN: bits, and texts with their lengths. TEXT becomes UTF-8. */
void encode_bits(byte_array *to, const uint64_t *values, size_t count);
void encode_text(byte_array *to, const char *text);

/* Thrift's compact protocol: structs of fields with rising numbers. */
struct thrift {
    byte_array *to;
    int last; /* the number of the last field */
};
void thrift_number(struct thrift *t, int field, int64_t value); /* i64 */
void thrift_int(struct thrift *t, int field, int32_t value);    /* i32 */
void thrift_text(struct thrift *t, int field, const char *text);
void thrift_list(struct thrift *t, int field, char kind, size_t count);
enum { THRIFT_INT = 5, THRIFT_TEXT = 8, THRIFT_STRUCT = 12 }; /* kinds of elements */
/* A struct as a field, or (FIELD 0) as an element of a list; ended by thrift_end(). */
struct thrift thrift_begin(struct thrift *t, int field);
void thrift_end(struct thrift *t);
/* Elements of lists. */
void thrift_add_int(struct thrift *t, int32_t value);
void thrift_add_text(struct thrift *t, const char *text);

/*
 * Writes tables as Apache Parquet files (github.com/apache/parquet-format: README, Encodings.md,
 * parquet.thrift). The file is written forwards, and memory does not grow with the number of rows
 * but for the footer, some hundred bytes for each million.
 *
 *     "PAR1" │ row group │ row group │ … │ footer │ its length │ "PAR1"
 *              a column after the other: a page with the dictionary, pages of values
 *
 * Texts are numbers of entries in a dictionary, packed in bits, or stand one after the other;
 * numbers are DELTA_BINARY_PACKED. Pages are compressed with zstd.
 */
#pragma once

#include "cmd/out.h"

enum { PARQUET_PAGE_ROWS = 1 << 16, PARQUET_PAGE_BYTES = 1 << 22, PARQUET_GROUP_ROWS = 1 << 20 };

enum parquet_type {
    PARQUET_NUMBER,
    PARQUET_TEXT,  /* from a dictionary */
    PARQUET_PLAIN, /* texts that differ mostly */
    PARQUET_BOOL
};

struct parquet_column {
    const char *name;
    enum parquet_type type;
    bool optional; /* it may be null */
    /* PARQUET_TEXT: the text that a value stands for, which is below KEYS. It need not be UTF-8. */
    const char *(*text)(void *ctx, uint32_t value);
    uint32_t keys;
};

struct parquet;
/* COLUMNS are borrowed; CTX is for text(). */
struct parquet *parquet_new(struct out *out, const struct parquet_column *columns, size_t count,
                            void *ctx);
/* Sets the value of a column in the present row. All columns have to be set. */
void parquet_set(struct parquet *p, size_t column, uint64_t value);
void parquet_set_null(struct parquet *p, size_t column);
/* The same of a PARQUET_PLAIN column. TEXT need not be UTF-8. */
void parquet_set_text(struct parquet *p, size_t column, const char *text);
void parquet_end_row(struct parquet *p);
/* Writes what is left, with the footer, which has TEXT under the name KEY. Frees P. */
void parquet_finish(struct parquet *p, const char *key, const char *text);

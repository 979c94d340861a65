/* A text that grows, and how strings and numbers are written into it. */
#pragma once

#include "base/mem.h"
#include "base/types.h"

struct words {
    char *at; /* not terminated */
    size_t count, room;
};

void words_add(struct words *w, const char *text);
void words_add_bytes(struct words *w, const char *text, size_t length);
void words_printf(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void words_char(struct words *w, char c) { ARRAY_PUSH(w, c); }
static inline void words_done(struct words *w) { ARRAY_FREE(w); }
/* Ends the text with a zero byte, which does not count. */
const char *words_text(struct words *w);

/*
 * A string of UNIT bytes a character (UTF-8, 16 or 32) in quotes. Whatever a terminal would not
 * show as it is becomes an escape sequence of C: control characters, those that change the
 * direction of text or have no width, and bytes that are no UTF-8 ("\377", in wide strings
 * "\x{d800}").
 */
void words_quote(struct words *w, const uint8_t *text, size_t length, unsigned unit);
/* LENGTH without the beginning of a UTF-8 character that was cut. */
size_t words_whole(const uint8_t *text, size_t length);
/* A character in single quotes. */
void words_quote_char(struct words *w, uint32_t c);
/* The string as JSON; {"hex": "…"} of its bytes if it is not well-formed. */
void words_json(struct words *w, const uint8_t *text, size_t length, unsigned unit);
/* The same of a text that ends with a zero byte. */
void words_json_text(struct words *w, const char *text);

/* The shortest decimal number that reads as the same float of BYTES (2, 4, 8, 10, 16: of x87 too);
 * "nan", "inf", "-inf". */
enum float_form { FLOAT_IEEE, FLOAT_X87, FLOAT_QUAD };
void words_float(struct words *w, const uint8_t *bytes, unsigned size, enum float_form form);
/* Of __int128: decimal. */
void words_integer(struct words *w, uint64_t low, uint64_t high, bool is_signed);

/* Text on a terminal: each UTF-8 sequence is one column. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline bool text_begins_column(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

size_t text_columns(const char *text);
/* The beginning of TEXT, with … if it has more than COLUMNS columns, not 0. To be freed. */
char *text_cut(const char *text, size_t columns);
/* The demangled NAME, which has more than COLUMNS columns, in so many: with what begins at byte AT,
 * the end of the qualified name, and its beginning if that has room. To be freed. */
char *text_around(const char *name, size_t at, size_t columns);
/*
 * The demangled NAME in at most COLUMNS columns, not 0. Scopes of names between brackets go first,
 * then the middle of what is there. The leading parts of the qualified name are next, as in
 * "…::Class::f(…)"; last is the middle of what is left. To be freed.
 */
char *text_fit(const char *name, size_t columns);

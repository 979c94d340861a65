/*
 * Readable names that differ in their spelling only: tools and versions write blanks and the
 * defaults of the C++ library in different ways.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Written in a pattern for anything between the brackets around it. */
#define ELLIPSIS "\u2026"

/* The end of the group in brackets that begins at TEXT, with '(', '[', '{' or '<'; behind its
 * closing bracket, or the end of the text. */
const char *spelling_group_end(const char *text);
/* The end of the literal that begins at TEXT, as D and Rust have them among arguments: "a < b",
 * '('. NULL: none begins there; so for a lifetime of Rust. */
const char *spelling_literal_end(const char *text);
/* If the word operator of C++ begins at P: the end of the operator's sign, or of the word itself
 * before a type, new, delete or "". Otherwise NULL. TEXT: the begin of the whole name. */
const char *spelling_operator_end(const char *text, const char *p);

/* NAME with the C++ library's defaults left out: std::basic_string<char, …> is std::string, and
 * std::vector<int, std::allocator<int> > is std::vector<int>. NULL: it has none. To be freed. */
char *spelling_fold(const char *name);

/* True if NAME is TEXT. Blanks do not count, and an ELLIPSIS in TEXT stands for any text with
 * balanced brackets; for any text at all if TEXT lacks brackets, since it was cut. WILD: '*' stands
 * for any text, and '?' for any byte. */
bool spelling_match(const char *text, const char *name, bool wild);

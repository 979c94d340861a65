/*
 * The parts of demangled names (C++, Rust): brackets, the qualified name, standard typedefs. Pure
 * functions over text. A text that is no such name is taken as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NAME as people write it: without the C++ library's defaults (spelling_fold()), and without Rust's
 * hashes. To be freed. */
char *readable_folded(const char *name);

/* Finds the brackets < ( { of NAME, without those of operators and of "(anonymous namespace)". By
 * position: where the bracket closes that opens there; 0: none does. To be freed. */
uint32_t *readable_brackets(const char *name);

/* The qualified name with template arguments, parameters and what follows, without the type that
 * the function returns. "void (*f<int>(char))(int)" has "f<int>(char)". */
struct readable_part {
    size_t start, end;
};
/* CLOSING is what readable_brackets() has returned for NAME. */
struct readable_part readable_qualified(const char *name, const uint32_t *closing);

/* True if '<' at position AT of NAME begins a type and no arguments, as in "<T as Trait>::f". */
bool readable_is_type(const char *name, size_t at);
/* The end of the argument that begins at AT, between brackets that end at END: a comma, or END. */
size_t readable_argument_end(const char *name, const uint32_t *closing, size_t at, size_t end);

/*
 * Short forms of demangled names, for terminals.
 *
 * A short name is the qualified name (readable.h) without the return type. Template arguments
 * become <…>, and parameters (…), where they have more than SHORT_BRACKETS columns, inner brackets
 * first. So "…" stands for anything between brackets. Names with equal short names show those
 * arguments in which they differ, and … for the others: "f<…, A, …>()". If that is not enough they
 * are whole.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SHORT_BRACKETS = 40 };

struct short_names;

/* The short forms of COUNT names, which must outlive them. An entry may be NULL. */
struct short_names *short_names_new(const char *const *names, size_t count);
void short_names_free(struct short_names *s);
/* Lives as long as S. NULL if the name is. */
const char *short_names_at(const struct short_names *s, size_t i);
/* The name in at most COLUMNS columns, not 0, as by text_fit(). To be freed. */
char *short_names_fit(const struct short_names *s, size_t i, size_t columns);

/*
 * The names of the COUNT numbers in LIST, in at most COLUMNS columns, not 0. Where names that are
 * cut would be equal, they show the part in which they differ. Each of RET is to be freed.
 */
void short_names_fit_all(const struct short_names *s, const uint32_t *list, size_t count,
                         size_t columns, char **ret);

/* The short form of a single name; to be freed. */
char *short_name(const char *name);

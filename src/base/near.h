/* "Did you mean": names that are similar to a mistyped one. */
#pragma once

#include <stddef.h>

/* The number of edits (insert, delete, replace, swap of neighbours) that turn A into B. Only the
 * first NEAR_LONGEST bytes of a name count. */
enum { NEAR_LONGEST = 128, NEAR_MOST = 3 };
unsigned near_distance(const char *a, const char *b);

/* The names that are nearest to a typed one: first those of its own scope, then of similar ones. */
struct near_names {
    char *typed;      /* without wildcards, parameters and template arguments */
    const char *last; /* in TYPED: behind its scope */
    char *names[NEAR_MOST];
    unsigned ranks[NEAR_MOST]; /* ascending */
    int count;
};
/* PATTERN: a name or pattern of a function, without the prefix of a module. */
void near_init(struct near_names *n, const char *pattern);
void near_done(struct near_names *n);
/* Keeps NAME, a qualified name without parameters, if it is near enough. */
void near_consider(struct near_names *n, const char *name);
/* "A, B, C", or NULL: no name is near. To be freed. */
char *near_list(const struct near_names *n);

/* The distance of two names, for "did you mean" after a mistyped word. */
#pragma once

/* The number of edits (insert, delete, replace, swap of neighbours) that turn A into B. Only the
 * first NEAR_LONGEST bytes of a name count. */
enum { NEAR_LONGEST = 128 };
unsigned near_distance(const char *a, const char *b);

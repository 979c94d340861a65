/* How far apart two names are: for "did you mean" after a mistyped word. */
#pragma once

/* Edits (insert, delete, replace, swap of neighbours) that turn A into B; of longer names only the
 * first NEAR_LONGEST bytes count. */
enum { NEAR_LONGEST = 128 };
unsigned near_distance(const char *a, const char *b);

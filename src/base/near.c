/* Computes edit distances. */
#include "base/near.h"

#include <string.h>

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* The restricted Damerau-Levenshtein distance. Only three rows of its matrix are kept. */
unsigned near_distance(const char *a, const char *b) {
    unsigned rows[3][NEAR_LONGEST + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    size_t na = strnlen(a, NEAR_LONGEST), nb = strnlen(b, NEAR_LONGEST);
    for (size_t j = 0; j <= nb; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]), least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[nb];
}

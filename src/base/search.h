/* Binary search by index. */
#pragma once

#include <stddef.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): a name cannot be enclosed */
/* The first index I in [0, COUNT) for which BEFORE, an expression of I, is false; COUNT if there is
 * none. BEFORE must be true up to there and false from there on. */
#define SEARCH(i, count, before)                                                                   \
    ({                                                                                             \
        size_t search_low_ = 0, search_high_ = (count);                                            \
        while (search_low_ < search_high_) {                                                       \
            const size_t i = search_low_ + (search_high_ - search_low_) / 2;                       \
            if (before)                                                                            \
                search_low_ = i + 1;                                                               \
            else                                                                                   \
                search_high_ = i;                                                                  \
        }                                                                                          \
        search_low_;                                                                               \
    })
/* NOLINTEND(bugprone-macro-parentheses) */

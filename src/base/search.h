/* Binary search in anything that has numbers. */
#ifndef SPOOR_BASE_SEARCH_H
#define SPOOR_BASE_SEARCH_H

#include <stddef.h>

/* NOLINTBEGIN(bugprone-macro-parentheses): a name cannot be enclosed */
/* The least number of [0, COUNT) for which BEFORE, an expression of I, does not hold, COUNT if
 * there is none. It holds for none beyond. */
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

#endif

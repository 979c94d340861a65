/* Stage 10: where control may arrive other than from the instruction before. */
#pragma once

#include "plan/window/exits.h"

struct arrivals {
    const struct texts *texts;
    uint8_t *entered;  /* bitmap by place: targets of every sort, and return points */
    bool *only_branch; /* by number in code.to_returns: nothing else leads to that return but such
                          branches */
};

struct arrivals arrivals_find(const struct exits *exits);
void arrivals_done(struct arrivals *arrivals);

static inline bool is_entered(const struct arrivals *a, const struct text *text, vaddr_t addr) {
    return bitmap_test(a->entered, text_place(text, addr));
}

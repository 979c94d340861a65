/* Stage 10: places where control may arrive from elsewhere than the instruction before. */
#pragma once

#include "plan/window/exits.h"

struct arrivals {
    const struct texts *texts;
    uint8_t *entered;  /* bitmap by place: all targets and return points */
    bool *only_branch; /* by index in code.to_returns: only such branches lead to that return */
};

struct arrivals arrivals_find(const struct exits *exits);
void arrivals_done(struct arrivals *arrivals);

static inline bool is_entered(const struct arrivals *a, const struct text *text, vaddr_t addr) {
    return bitmap_test(a->entered, text_place(text, addr));
}

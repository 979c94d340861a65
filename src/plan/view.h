/*
 * What a plan does, place by place: for those who show or check it. Addresses are link-time ones.
 */
#ifndef SPOOR_PLAN_VIEW_H
#define SPOOR_PLAN_VIEW_H

#include "base/mem.h"
#include "plan/plan.h"

enum place_kind { PLACE_ENTRY, PLACE_RETURN, PLACE_TAIL, PLACE_CONTROL, PLACE_LOOP };
const char *place_name(enum place_kind kind); /* "entry" "return" "tail" "control" "loop" */

enum { NO_FUNCTION = UINT32_MAX };

/* Whole instructions that run elsewhere, and the bytes that a jump is written over. */
struct plan_window {
    vaddr_t start, end;
    vaddr_t hole;    /* of a hop, else 0 */
    uint8_t written; /* bytes from start on; padding behind end may be among them */
    uint8_t hole_bytes;
    enum tier tier;
    uint32_t function; /* whose code it is; NO_FUNCTION when nobody's that users see */
};

/* Where something is observed, or would be. */
struct plan_place {
    vaddr_t at;
    enum place_kind kind;
    enum tier tier;       /* TIER_NONE: it is not patched */
    enum refusal refused; /* why */
    uint32_t function;
    uint32_t window; /* index of its window, when it has one */
};

struct plan_view {
    ARRAY(struct plan_window) windows; /* by address, disjoint */
    ARRAY(struct plan_place) places;   /* by address */
};

void plan_view_init(struct plan_view *view, const struct plan *plan);
void plan_view_done(struct plan_view *view);

#endif

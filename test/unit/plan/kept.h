/* Kept code in memory: written in flat form, and read again. */
#pragma once

#include "plan/plan.h"

typedef void kept_write(const struct plan *, const struct kept_code *, struct flat_writer *);

/* Writes CODE, emitted for REQUEST, by WRITE, and reads that. */
struct kept_code kept_make(const struct plan *plan, const struct plan_request *request,
                           const struct plan_code *code, kept_write *write);
/* Empties the area and the marks of KEPT, which come from a source then. */
void kept_withhold(struct kept_code *kept);
void kept_free(struct kept_code *kept);
/* The area of CODE, MOVED bytes higher, made from small pieces. The caller frees it. */
uint8_t *kept_area(const struct plan_code *code, uint64_t moved);
/* KEPT, adapted to REQUEST, is what was emitted for that: FRESH. */
void kept_assert_as_new(const struct plan *plan, const struct kept_code *kept,
                        const struct plan_request *request, const struct plan_code *fresh);

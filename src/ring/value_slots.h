/*
 * Puts the values of a capture (wire/ring.h, enum capture_event) together from the slots of one
 * lane. Those without their event right behind them are forgotten.
 */
#pragma once

#include "trace/value_log.h"

struct value_slots {
    const struct captures *captures;        /* NULL: the lane is not read */
    const struct numbered_capture *capture; /* that has begun; NULL: none */
    uint32_t number;
    uint64_t *words, *there; /* owned: by number; a bitmap */
    size_t room;             /* of words */
};

void value_slots_done(struct value_slots *s);
/* Whether the lane may have values. */
static inline bool value_slots_wanted(const struct value_slots *s) {
    return captures_longest(s->captures) > 0;
}
/* Takes E, a capture's slot. */
void value_slots_take(struct value_slots *s, const struct event *e);
/* E is no such slot. True: RET are its values, valid until the next slot is taken. */
bool value_slots_end(struct value_slots *s, const struct trace_event *e, struct event_values *ret);

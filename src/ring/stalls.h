/*
 * Positions of a ring at which its thread stood at the limit, and how many events it lost there
 * (--overflow=drop).
 *
 * A thread loses an event only while its head equals the limit. Only the drainer moves the limit.
 * So a loss lies between the events before and behind a limit of the past. The drainer notes such
 * a limit when it has published the next one, if the head stood there or shortly before:
 *
 *      drainer:  limit = B │ fence │ read lost, read head ≈ A: A is noted
 *      thread:   head = A, reads limit A: lost + 1 │ goes on behind A
 *
 * Losses that a look finds are counted at the newest position. Some may belong to a position
 * before, if the thread has come to both since the look before. That position counts as a gap, too.
 * A position behind which an event is committed gets no more losses.
 */
#pragma once

#include "base/mem.h"
#include "base/types.h"

struct stall {
    uint64_t at;   /* position: what is missing was before the event there */
    uint64_t lost; /* events; of a gap it may be 0 */
    bool gap;      /* events may be missing here */
};

struct stalls {
    ARRAY(struct stall) noted; /* ascending */
    uint64_t lost;             /* of the lane, at the last look */
    uint64_t passed;           /* positions before this one get no more losses */
};

/* Begins anew, for a lane that has lost nothing. */
void stalls_begin(struct stalls *s);
void stalls_done(struct stalls *s);
/* Forgets all positions, but not how many events were lost. */
void stalls_forget(struct stalls *s);
/* The present limit, and the one before if the present one was published before a full fence since
 * the last look; else the same. */
struct stall_limits {
    uint64_t before, present;
};
/* The lane has lost LOST events, and its head, read afterwards, is HEAD. */
void stalls_look(struct stalls *s, const struct stall_limits *limits, uint64_t lost, uint64_t head);
/* All before HEAD was committed when LOST of the last look was read. Positions before HEAD that are
 * no gaps are forgotten. */
void stalls_pass(struct stalls *s, uint64_t head);
/* The first gap, or NULL. Valid until the next call. */
const struct stall *stalls_first_gap(const struct stalls *s);
void stalls_remove_first_gap(struct stalls *s);

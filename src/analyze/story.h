/*
 * A trace told as steps: entries and exits of the calls that are shown, all
 * threads merged by time. For views that print what happened in order.
 *
 * Memory: one block per stream, and what is open. An entry whose call must
 * last a threshold, or reach into the time span, is told when that is known:
 * in order within its thread, later than other threads' steps.
 */
#ifndef SPOOR_ANALYZE_STORY_H
#define SPOOR_ANALYZE_STORY_H

#include "analyze/shown.h"
#include "trace/calls.h"

enum step_kind { STEP_ENTRY, STEP_EXIT, STEP_LOST };

struct step {
    enum step_kind kind;
    uint32_t stream;
    uint32_t id;       /* function; not of STEP_LOST */
    uint32_t depth;    /* among the calls shown, from 0; of STEP_LOST: of what is open */
    uint64_t ticks;    /* when: of the entry, the exit, the loss */
    uint64_t start;    /* STEP_EXIT: when the call began */
    enum call_end how; /* STEP_EXIT */
    uint64_t lost;     /* STEP_LOST: events */
};

/* Returns false to end the story early. */
typedef bool story_step(void *ctx, const struct step *step);

/* 0 when all was told or STEP ended it; errors of the reader (damaged blocks are passed over and
 * make the result −EBADMSG "corrupt-block" at the end). */
int story_tell(struct trace_reader *reader, const struct shown *shown, story_step *step, void *ctx,
               struct err *err);

#endif

/*
 * Waits for reports of tracees. The loop handles them (struct loop_handlers), so each function here
 * may end tasks and change states. SIGCHLD is blocked: the recording's loop reads it.
 */
#pragma once

#include "tracer/tracer_state.h"

/* Waits until a report comes, a millisecond at most; handles none. */
void reports_wait_ms(void);
/* Handles pending reports. Returns whether there may be more: it stops after a while, so that a
 * program that creates threads all the time does not block spoor. */
bool reports_handle(struct tracer *t);
/* Waits a millisecond at most, and handles all reports. False: no tracee is left. */
bool reports_await(struct tracer *t);
/* Waits for one report, for as long as it takes, and handles it. False: no tracee is left. */
bool reports_await_one(struct tracer *t);

enum { LEAVE_PATIENCE_S = 5 };
/* Handles reports until TURN, called before each wait, returns false; LEAVE_PATIENCE_S at most.
 * Returns whether that time has passed; also false when the user asks spoor once more to end. */
bool reports_await_while(struct tracer *t, bool (*turn)(struct tracer *, const struct space *),
                         const struct space *space);
/* Whether the user asks spoor once more to end. */
bool reports_is_urged(void);

/* Answers the tasks of TIDS that still exist, are stopped, and are in no stopping space; frees
 * TIDS. */
void reports_answer_all(struct tracer *t, tid_array *tids);
/* Answers newborns whose parents have reported them since they stopped. */
void reports_answer_newborns(struct tracer *t);

/* What record and attach have in common: the options, progress, the summary. */
#ifndef SPOOR_CMD_RECORDER_H
#define SPOOR_CMD_RECORDER_H

#include "cmd/options.h"
#include "record/session.h"

struct recorder {
    bool shown; /* progress stands on the terminal's present line */
};

/* The options of a recording that shows progress and warnings by R, which must stay in place. */
struct session_options *recorder_options(struct recorder *r, struct options *options);
void recorder_clear_progress(struct recorder *r);
/* Prints what the recording has done, and what has gone wrong with its trace. */
void recorder_summary(const struct session_options *session, const struct session_result *result);

#endif

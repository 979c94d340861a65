/* What record and attach have in common: the options, progress, the summary. */
#pragma once

#include "cmd/options.h"
#include "record/record.h"

struct recorder {
    bool shown; /* progress stands on the terminal's present line */
};

/* The options of a recording that shows progress and warnings by R, which must stay in place. */
struct record_options *recorder_options(struct recorder *r, struct options *options);
void recorder_clear_progress(struct recorder *r);
/* Prints what the recording has done, and what has gone wrong with its trace. */
void recorder_summary(const struct record_options *session, const struct record_result *result);

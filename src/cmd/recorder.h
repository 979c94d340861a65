/* The common part of record and attach: options, progress, the summary. */
#pragma once

#include "cmd/options.h"
#include "record/record.h"

struct recorder {
    bool shown; /* the terminal's present line shows progress */
};

/* Prepares the options of a recording whose progress and warnings R shows. R must not move. */
struct record_options *recorder_options(struct recorder *r, struct options *options);
/* Reads the formats of objects (values/formats.h). False: an error was printed. */
bool recorder_formats(struct record_options *o);
void recorder_clear_progress(struct recorder *r);
/* Prints the summary line, and the error of the trace if there is one. */
void recorder_summary(const struct record_options *session, const struct record_result *result);

/*
 * Processes that signals have ended: finds functions and source lines of their stacks, and writes
 * them to the trace. Files are looked for at the end of the recording: one that has changed or gone
 * gives no names.
 */
#pragma once

#include "record/record.h"
#include "tracer/death.h"

/* Frees the strings of F, which deaths_write() has made. */
void death_frame_done(const struct trace_death_frame *f);
/* Appends each process of DEATHS that has ended to RET, and writes it to WRITER. */
void deaths_write(const death_array *deaths, struct trace_writer *writer, death_records *ret);

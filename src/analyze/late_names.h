/*
 * Names of functions that the recording did not know: a recording does not wait for the network, so
 * views ask debuginfod servers for the symbols of stripped modules.
 */
#pragma once

#include "trace/reader.h"

/* Gives names to functions of R in modules of which most functions have none. Asks only if
 * DEBUGINFOD_URLS is set. */
void late_names_find(struct trace_reader *r);

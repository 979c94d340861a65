/* What `spoor explain` says of a function of a trace. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "trace/reader.h"

/* Writes explain's JSON object of the function at ADDRESS of M. False: nothing was written, since
 * the file that was traced is not here any more, or has no such function. Any thread. */
bool sites_write(FILE *out, const struct trace_module *m, uint64_t address);

/* The processes of a trace. A process has a record for each exec, and one for its beginning. */
#pragma once

#include "trace/reader.h"

enum { PROCESS_NONE = UINT32_MAX };

/* The number of the record that STREAM belongs to: the last of its process that had begun when the
 * stream began, or else the first. PROCESS_NONE: there is none. */
uint32_t process_of(const struct trace_reader *r, uint32_t stream);
/* The name of its executable, or "unknown". PROCESS may be PROCESS_NONE. */
const char *process_name(const struct trace_reader *r, uint32_t process);

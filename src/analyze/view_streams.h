/* Which threads a view shows: --tid, --pid and --process. Private to view_filter. */
#pragma once

#include "analyze/view_filter.h"

/* Sets *RET to an array by stream: 1 if it is shown. NULL: all are. The caller frees it. Errors,
 * ENOENT: "no-thread", "no-process". */
int view_streams(const struct view_spec *spec, const struct trace_reader *r, uint8_t **ret,
                 struct err *err);

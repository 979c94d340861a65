/* The formats of spoor export. Private to it. */
#pragma once

#include "cmd/open_view.h"
#include "cmd/out.h"

typedef void export_write(const struct view *view, struct out *out);

export_write export_chrome, export_csv, export_folded;
export_write export_callgrind, export_perfetto, export_pprof;
export_write export_speedscope, export_firefox, export_parquet;
/* The format that is a folder: PATH, or NULL if none was given. Prints errors. Returns spoor's exit
 * status. */
int export_ctf(struct view *view, const char *path);

/* Walks the shown stream groups with VISITOR, until OUT has an error. Before each group it calls
 * ON_STREAM_GROUP, if not NULL, with VISITOR's ctx. */
void export_walk(const struct view *view, const struct visitor *visitor,
                 void (*on_stream_group)(void *ctx, struct stream_group group),
                 const struct out *out);

/* The name of the program that the thread of STREAM runs. */
const char *export_command(const struct view *view, uint32_t stream);

/* How a call ended that did not return: "tail call", "unwound", "inferred", "cut" or "open". NULL:
 * it returned. */
const char *export_end(enum call_end how, bool inferred);

/* The formats of spoor export. Private to it. */
#pragma once

#include "cmd/out.h"
#include "cmd/view.h"

typedef void export_write(const struct view *view, struct out *out);

export_write export_chrome, export_csv, export_folded;

/* Shows VISITOR all stream groups that are shown, each after ON_STREAM_GROUP, which may be NULL,
 * was called with VISITOR's ctx; until OUT has an error. */
void export_walk(const struct view *view, const struct visitor *visitor,
                 void (*on_stream_group)(void *ctx, struct stream_group group),
                 const struct out *out);

/* The program that a thread runs. */
const char *export_command(const struct view *view, uint32_t stream);

/* The formats of spoor export. Private to it. */
#ifndef SPOOR_CMD_EXPORT_H
#define SPOOR_CMD_EXPORT_H

#include "cmd/out.h"
#include "cmd/view.h"

typedef void export_write(const struct view *view, struct out *out);

export_write export_chrome, export_csv, export_folded;

/* Shows VISITOR all strands that are shown, each after ON_STRAND, which may be NULL, was called
 * with VISITOR's ctx; until OUT has an error. */
void export_walk(const struct view *view, const struct visitor *visitor,
                 void (*on_strand)(void *ctx, struct strand strand), const struct out *out);

/* The program that a thread runs. */
const char *export_command(const struct view *view, uint32_t stream);

#endif

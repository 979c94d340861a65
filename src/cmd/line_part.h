/* The lines of one part of a recording that goes on. */
#pragma once

#include "analyze/lines.h"
#include "cmd/follow.h"

struct line_part {
    struct lines *lines;
    ARRAY(struct line) list;
};

/* Reads the lines of PART. They are fewer than PART has if these are very many, or if times are
 * close at its end: then part->end_ns is lowered. A call that is open at the end of a part that is
 * not the last one has no exit. FOLD: an entry with its exit behind it becomes a LINE_LEAF. */
void line_part_read(struct line_part *p, const struct source *source, struct follow_part *part,
                    bool fold);
void line_part_done(struct line_part *p);

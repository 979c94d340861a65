/* How views show changes of a recording: pauses, filters, processes that were left. */
#pragma once

#include "analyze/changes.h"
#include "cmd/open_view.h"

/* A text like "paused for 1.234 s"; to be freed. */
char *changed_text(const struct change *change);
/* The value of "kind" in JSON. */
const char *changed_kind(const struct change *change);
/* The other members in JSON, each after a comma; to be freed. */
char *changed_members(const struct change *change);

/* Why a thread stood still: a word, also in JSON. */
const char *pause_cause(enum pause_cause cause);

/* Prints to standard output if pauses or filters have left calls out of the figures. */
void changed_print_end(const struct view *view, unsigned width);

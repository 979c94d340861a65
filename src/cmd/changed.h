/* What has changed while a trace was recorded, as views tell it. */
#pragma once

#include "analyze/changes.h"
#include "cmd/view.h"

/* "paused for 1.234 s"; to be freed. */
char *changed_text(const struct change *change);
/* As "kind" in JSON. */
const char *changed_kind(const struct change *change);
/* The members in JSON that only this kind has, each after a comma; to be freed. */
char *changed_members(const struct change *change);

/* Lines about what makes figures smaller, if there is anything, to standard output. */
void changed_print_end(const struct view *view);

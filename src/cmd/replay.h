/* The forms of a call trace. Private to replay and export. */
#pragma once

#include "cmd/out.h"
#include "cmd/term.h"
#include "cmd/view.h"

/* Indented, with durations, for people. */
struct replay_look {
    struct term term;
    bool time;   /* a column of time stamps */
    bool stacks; /* who called, below each entry */
};
void replay_text(const struct view *view, const struct replay_look *look, struct out *out);

/* One object a line, as CONTRACT.md says. */
void replay_json(const struct view *view, struct out *out);
/* The same, with who called. */
void replay_json_stacks(const struct view *view, struct out *out);

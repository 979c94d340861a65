/* The text and the JSON of a call trace. Private to replay and export. */
#pragma once

#include "cmd/follow.h"
#include "cmd/open_view.h"
#include "cmd/out.h"
#include "cmd/term.h"

struct replay_look {
    struct term term;
    bool time;                   /* a column of time stamps */
    const choice_array *columns; /* enum replay_column; empty: the default */
    bool stacks;                 /* recorded callers below each entry */
};
/* Indented text with durations. */
void replay_text(const struct view *view, const struct replay_look *look, struct out *out);
/* The same of a part of a recording that goes on. */
void replay_text_part(const struct view *view, const struct replay_look *look, struct out *out,
                      struct follow_part *part);

/* "  1.234 us", 10 columns: three digits after the point; none from a thousand seconds on. */
void replay_write_time(struct out *out, uint64_t ns);

/* One object a line, as spoor-replay(1) says. */
void replay_json(const struct view *view, struct out *out);
/* The same with recorded callers. */
void replay_json_stacks(const struct view *view, struct out *out);
void replay_json_part(const struct view *view, const struct replay_look *look, struct out *out,
                      struct follow_part *part);

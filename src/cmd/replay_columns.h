/* The columns before the functions of replay's text. Private to replay_text.c. */
#pragma once

#include "analyze/lines.h"
#include "cmd/replay.h"

struct replay_columns {
    const struct view *view;
    unsigned char at[REPLAY_COLUMN_COUNT + 1]; /* enum replay_column */
    size_t count;
    unsigned widths[REPLAY_COLUMN_COUNT]; /* by column; widest texts may be wider */
    bool cut;                             /* texts are cut to their columns */
    char **processes;                     /* texts by stream; NULL: not made yet */
    uint64_t *last_ns;                    /* by stream: of the line before; UINT64_MAX: none */
};

void replay_columns_init(struct replay_columns *c, const struct view *view,
                         const struct replay_look *look);
void replay_columns_done(struct replay_columns *c);
/* The columns that all take, with the bar behind them. */
size_t replay_columns_margin(const struct replay_columns *c);
void replay_columns_head(const struct replay_columns *c, struct out *out);
/* Writes a column of LINE other than its duration. */
void replay_columns_write(struct replay_columns *c, enum replay_column column,
                          const struct line *line, struct out *out);
/* LINE has been written: further deltas of its thread count from it. */
void replay_columns_note(struct replay_columns *c, const struct line *line);

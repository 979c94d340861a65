/* See replay_columns.h. Each column is as wide as its widest text, up to a limit. */
#include "cmd/replay_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/processes.h"
#include "base/mem.h"
#include "cmd/figures.h"

static const struct {
    const char *head;
    unsigned width; /* at least; of the head with "#", too */
    bool is_text;   /* on the left of its column */
} columns[REPLAY_COLUMN_COUNT] = {
    [REPLAY_DURATION] = {"DURATION", 10, false}, [REPLAY_ELAPSED] = {"TIME", 15, false},
    [REPLAY_DELTA] = {"DELTA", 10, false},       [REPLAY_TID] = {"TID", 5, false},
    [REPLAY_THREAD] = {"THREAD", 8, true},       [REPLAY_PROCESS] = {"PROCESS", 9, true},
    [REPLAY_MODULE] = {"MODULE", 8, true},       [REPLAY_DEPTH] = {"DEPTH", 7, false},
    [REPLAY_ADDRESS] = {"ADDRESS", 14, false},   [REPLAY_LINE] = {"LINE", 24, true},
};
enum { WIDEST = 24 };

static bool is_call(const struct line *line) {
    return line->kind == LINE_ENTRY || line->kind == LINE_EXIT || line->kind == LINE_LEAF;
}

/* ---- texts ---- */

/* "name (PID)" */
static const char *process_text(struct replay_columns *c, uint32_t stream) {
    const struct trace_reader *r = c->view->source.reader;
    char **text = &c->processes[stream];
    if (!*text)
        *text = mem_printf("%s (%u)", process_name(r, process_of(r, stream)),
                           trace_reader_thread(r, stream)->pid);
    return *text;
}

/* "file:line" of a function; to be freed. */
static char *line_text(struct names *names, uint32_t function) {
    struct source_line line = names_source(names, function);
    return line.file ? mem_printf("%s:%u", line.file, line.line) : mem_strdup("-");
}

/* The text of a column that is_text; to be freed. */
static char *text_of(struct replay_columns *c, enum replay_column column, const struct line *line) {
    const struct trace_reader *r = c->view->source.reader;
    struct names *names = c->view->source.names;
    if (column == REPLAY_THREAD && line->kind != LINE_CHANGE)
        return mem_strdup(trace_reader_thread(r, line->stream)->name);
    if (column == REPLAY_PROCESS && line->kind != LINE_CHANGE)
        return mem_strdup(process_text(c, line->stream));
    if (column == REPLAY_MODULE && is_call(line))
        return mem_strdup(names_module_name(names, names_module(names, line->function)));
    if (column == REPLAY_LINE && is_call(line))
        return line_text(names, line->function);
    return mem_strdup("");
}

static unsigned columns_of(const char *text) {
    return (unsigned)((int)strlen(text) - figure_extra_bytes(text));
}

/* ---- widths ---- */

static void widen(struct replay_columns *c, enum replay_column column, unsigned wanted) {
    unsigned most = wanted < WIDEST ? wanted : WIDEST;
    c->widths[column] = most > c->widths[column] ? most : c->widths[column];
}

static void set_widths(struct replay_columns *c) {
    const struct trace_reader *r = c->view->source.reader;
    struct names *names = c->view->source.names;
    for (size_t i = 0; i < REPLAY_COLUMN_COUNT; i++)
        c->widths[i] = columns[i].width;
    for (uint32_t i = 0; i < trace_reader_stream_count(r); i++) {
        const struct trace_thread *t = trace_reader_thread(r, i);
        widen(c, REPLAY_TID, (unsigned)snprintf(NULL, 0, "[%u]", t->tid));
        widen(c, REPLAY_THREAD, columns_of(t->name));
    }
    for (uint32_t i = 0; i < trace_reader_process_count(r); i++)
        widen(c, REPLAY_PROCESS,
              columns_of(process_name(r, i)) +
                  (unsigned)snprintf(NULL, 0, " (%u)", trace_reader_process(r, i)->pid));
    for (uint32_t i = 0; i + 1 < names_module_count(names); i++)
        widen(c, REPLAY_MODULE, columns_of(names_module_name(names, i)));
}

void replay_columns_init(struct replay_columns *c, const struct view *view,
                         const struct replay_look *look) {
    size_t streams = trace_reader_stream_count(view->source.reader);
    *c = (struct replay_columns){.view = view, .cut = look->term.width};
    bool timed = look->time && !memchr(look->columns->count ? look->columns->at : c->at,
                                       REPLAY_ELAPSED, look->columns->count);
    if (timed)
        c->at[c->count++] = REPLAY_ELAPSED;
    for (size_t i = 0; i < look->columns->count && c->count < sizeof c->at; i++)
        c->at[c->count++] = look->columns->at[i];
    if (!look->columns->count) {
        c->at[c->count++] = REPLAY_DURATION;
        c->at[c->count++] = REPLAY_TID;
    }
    c->processes = mem_alloc(streams * sizeof *c->processes + 1);
    c->last_ns = mem_alloc(streams * sizeof *c->last_ns + 1);
    memset(c->last_ns, 0xff, streams * sizeof *c->last_ns);
    set_widths(c);
}

void replay_columns_done(struct replay_columns *c) {
    for (size_t i = 0; i < trace_reader_stream_count(c->view->source.reader); i++)
        free(c->processes[i]);
    free(c->processes);
    free(c->last_ns);
}

size_t replay_columns_margin(const struct replay_columns *c) {
    size_t margin = 2;
    for (size_t i = 0; i < c->count; i++)
        margin += c->widths[c->at[i]] + 1;
    return margin;
}

/* ---- output ---- */

/* The last column of heads stands on the left of "[TID]"'s bracket. */
void replay_columns_head(const struct replay_columns *c, struct out *out) {
    char head[64];
    for (size_t i = 0; i < c->count; i++) {
        enum replay_column column = c->at[i];
        int width = (int)c->widths[column];
        if (columns[column].is_text)
            width = -width;
        int n = snprintf(head, sizeof head, "%*s", width, columns[column].head);
        if (!i && columns[column].is_text)
            n = snprintf(head, sizeof head, "# %*s", width + 2, columns[column].head);
        else if (!i && head[0] == ' ')
            head[0] = '#';
        out_text(out, head, (size_t)n);
        out_char(out, ' ');
    }
    out_words(out, "  FUNCTION\n");
}

/* Writes TEXT, of a foreign file, on the left of its column, cut to its last part. */
static void write_text(const struct replay_columns *c, enum replay_column column, const char *text,
                       struct out *out) {
    unsigned width = c->widths[column], wide = columns_of(text);
    if (wide > width && c->cut) {
        for (; wide > width - 1; wide--)
            for (text++; ((unsigned char)*text & 0xc0) == 0x80; text++)
                continue;
        out_words(out, "…");
        wide++;
    }
    for (; *text; text++)
        out_char(out, (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text);
    out_spaces(out, wide < width ? width - wide : 0);
}

static void write_elapsed(struct out *out, uint64_t ns) {
    out_padded(out, ns / 1000000000, 4, ' ');
    out_char(out, '.');
    out_padded(out, ns % 1000000000, 9, '0');
    out_char(out, 's');
}

/* The id of the thread, or of the process of a change; 0: all processes. */
static void write_tid(const struct replay_columns *c, const struct line *line, struct out *out) {
    const struct trace_reader *r = c->view->source.reader;
    unsigned width = c->widths[REPLAY_TID] - 2;
    uint32_t tid =
        line->kind == LINE_CHANGE ? line->change->pid : trace_reader_thread(r, line->stream)->tid;
    out_char(out, '[');
    if (tid)
        out_padded(out, tid, width, ' ');
    else
        out_spaces(out, width);
    out_char(out, ']');
}

static void write_address(const struct replay_columns *c, const struct line *line,
                          struct out *out) {
    char text[32] = "";
    if (is_call(line))
        snprintf(text, sizeof text, "0x%jx",
                 (uintmax_t)names_address(c->view->source.names, line->function));
    int width = (int)c->widths[REPLAY_ADDRESS], length = (int)strlen(text);
    out_spaces(out, (size_t)(length < width ? width - length : 0));
    out_text(out, text, (size_t)length);
}

static void write_delta(const struct replay_columns *c, const struct line *line, struct out *out) {
    uint64_t last = line->kind == LINE_CHANGE ? UINT64_MAX : c->last_ns[line->stream];
    if (last == UINT64_MAX)
        out_spaces(out, c->widths[REPLAY_DELTA]);
    else
        replay_write_time(out, line->ns > last ? line->ns - last : 0);
}

void replay_columns_write(struct replay_columns *c, enum replay_column column,
                          const struct line *line, struct out *out) {
    if (columns[column].is_text) {
        AUTO_FREE char *text = text_of(c, column, line);
        write_text(c, column, text, out);
    } else if (column == REPLAY_ELAPSED) {
        write_elapsed(out, line->ns);
    } else if (column == REPLAY_TID) {
        write_tid(c, line, out);
    } else if (column == REPLAY_DEPTH) {
        out_padded(out, line->depth, c->widths[REPLAY_DEPTH], ' ');
    } else if (column == REPLAY_ADDRESS) {
        write_address(c, line, out);
    } else {
        write_delta(c, line, out);
    }
}

void replay_columns_note(struct replay_columns *c, const struct line *line) {
    if (line->kind != LINE_CHANGE)
        c->last_ns[line->stream] = line->ns;
}

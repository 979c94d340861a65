/*
 * The text of a call trace: duration, thread, function. A call without callees is one line. Other
 * calls have a line at their entry, and one with the duration at their end. The column of threads
 * fits the widest id. On a terminal, names are cut so that lines fit. Calls that are open when the
 * trace ends are closed after all other lines.
 */
#include <stdio.h>

#include "analyze/lines.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/callers.h"
#include "cmd/change_texts.h"
#include "cmd/figures.h"
#include "cmd/indent.h"
#include "cmd/labels.h"
#include "cmd/line_part.h"
#include "cmd/replay_columns.h"
#include "cmd/shown_values.h"

enum { DURATION_COLUMNS = 10, LEAST_NAME_COLUMNS = 12 };

/* The name of a function as it is written. */
struct label {
    const char *name; /* NULL: not yet looked up */
    uint32_t function, length, columns;
    bool bare; /* the name has no parameters: "()" follows */
};

struct text_view {
    struct out *out;
    const struct view *view;
    const struct replay_look *look;
    struct labels *names;
    struct label *labels;       /* by function */
    struct places *places;      /* NULL: callers are not shown */
    struct call_values *values; /* NULL: there are none */
    struct replay_columns columns;
    size_t margin;                 /* columns before a function of depth 0 */
    unsigned levels;               /* that are indented */
    ARRAY(struct line) still_open; /* exits of calls that are open at the end */
};

/* ---- names ---- */

static bool starts(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* True if a demangled name has parameters: a parenthesis outside of template arguments. (In Go's
 * pkg.(*T).Method is a receiver.) */
static bool has_parameters(const char *name) {
    static const char unnamed[] = "(anonymous namespace)";
    int nesting = 0;
    for (const char *p = name; *p; p++) {
        if (starts(p, unnamed))
            p += sizeof unnamed - 2;
        else if (starts(p, "operator"))
            return strchr(p, '(') != NULL;
        else if (*p == '(' && nesting == 0 && (p == name || p[-1] != '.'))
            return true;
        else if (*p == '<')
            nesting++;
        else if (*p == '>' && p > name && p[-1] != '-')
            nesting--;
    }
    return false;
}

static bool begins_character(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

static const struct label *label_of(const struct text_view *t, uint32_t function) {
    struct label *label = &t->labels[function];
    if (label->name)
        return label;
    label->name = labels_at(t->names, function);
    label->function = function;
    label->length = (uint32_t)strlen(label->name);
    for (const char *p = label->name; *p; p++)
        label->columns += begins_character(*p);
    label->bare = !has_parameters(label->name);
    return label;
}

/* Writes the name of a function at DEPTH. Other texts on its line take OTHERS columns. */
static void write_name(const struct text_view *t, const struct label *label, uint32_t depth,
                       size_t others) {
    struct indent indent = indent_of(depth, t->levels);
    size_t width = t->look->term.width, used = t->margin + indent_columns(&indent) + others;
    size_t room = width > used + LEAST_NAME_COLUMNS ? width - used : LEAST_NAME_COLUMNS;
    if (!width || label->columns <= room) {
        out_text(t->out, label->name, label->length);
        return;
    }
    AUTO_FREE char *fitted = labels_fit(t->names, label->function, room);
    out_text(t->out, fitted, strlen(fitted));
}

/* ---- columns ---- */

static void begin_color(const struct text_view *t, unsigned color) {
    if (!t->look->term.color)
        return;
    out_words(t->out, "\033[");
    out_number(t->out, color);
    out_char(t->out, 'm');
}

static void end_color(const struct text_view *t) {
    if (t->look->term.color)
        out_words(t->out, "\033[m");
}

enum { YELLOW = 33, RED = 31, BRIGHT_RED = 91 };

void replay_write_time(struct out *out, uint64_t ns) {
    static const char units[][4] = {" us", " ms", "  s"};
    unsigned unit = 0;
    for (; ns >= 1000000 && unit < 2; unit++)
        ns /= 1000;
    if (ns >= 1000000) {
        out_padded(out, ns / 1000, 7, ' ');
    } else {
        out_padded(out, ns / 1000, 3, ' ');
        out_char(out, '.');
        out_padded(out, ns % 1000, 3, '0');
    }
    out_text(out, units[unit], 3);
}

static void write_duration(const struct text_view *t, uint64_t ns) {
    if (ns < 100000 || !t->look->term.color) {
        replay_write_time(t->out, ns);
        return;
    }
    begin_color(t, ns < 1000000 ? YELLOW : ns < 10000000 ? RED : BRIGHT_RED);
    replay_write_time(t->out, ns);
    end_color(t);
}

static void write_words(struct out *out, const char *words) { out_text(out, words, strlen(words)); }

static void write_indent(struct out *out, struct indent indent) {
    out_spaces(out, indent.columns);
    write_words(out, indent.depth);
}

static void write_duration_of(const struct text_view *t, const struct line *line) {
    bool timed = line->kind == LINE_PAUSE || line->kind == LINE_EXIT || line->kind == LINE_LEAF;
    if (timed && line->how != CALL_OPEN)
        write_duration(t, line->duration_ns);
    else
        out_spaces(t->out, DURATION_COLUMNS);
}

/* Writes all columns before the function. */
static void write_margin(struct text_view *t, const struct line *line) {
    struct out *out = t->out;
    for (size_t i = 0; i < t->columns.count; i++) {
        if (t->columns.at[i] == REPLAY_DURATION)
            write_duration_of(t, line);
        else
            replay_columns_write(&t->columns, t->columns.at[i], line, out);
        out_char(out, ' ');
    }
    out_words(out, "| ");
    write_indent(out, indent_of(line->depth, t->levels));
}

/* ---- lines ---- */

enum { NOTE_ROOM = 80 };

/* What is unusual about a call; "": nothing. BRIEF: with marks and words in few columns. */
static void note_of(const struct line *line, bool brief, char note[NOTE_ROOM]) {
    static const char *const ends[][2] = {[CALL_RETURNED] = {"", ""},
                                          [CALL_TAIL] = {"tail call", "tail"},
                                          [CALL_UNWOUND] = {"unwound", "unwound"},
                                          [CALL_MISSED] = {"unwound", "unwound"},
                                          [CALL_THREAD_ENDED] = {"open", "open"},
                                          [CALL_OPEN] = {"open", "open"},
                                          [CALL_CUT] = {FIGURE_CUT " cut", FIGURE_CUT}};
    static const char *const inferred[] = {FIGURE_INFERRED " inferred", FIGURE_INFERRED};
    static const char *const before[] = {FIGURE_BEFORE " before", FIGURE_BEFORE};
    static const char *const beyond[] = {FIGURE_CLIPPED " beyond the span", FIGURE_CLIPPED};
    const char *end = line->inferred ? inferred[brief] : ends[line->how][brief];
    const char *gap = brief ? " " : ", ", *clipped = line->clipped ? beyond[brief] : "";
    if (line->kind == LINE_ENTRY)
        end = "";
    snprintf(note, NOTE_ROOM, "%s%s%s%s%s", line->before ? before[brief] : "",
             line->before && (*end || *clipped) ? gap : "", end, *end && *clipped ? gap : "",
             clipped);
}

static size_t columns_of(const char *text) {
    size_t columns = 0;
    for (; *text; text++)
        columns += begins_character(*text);
    return columns;
}

/* Writes SIGN, and NOTE as a comment unless it is empty. BARE: as in struct label. */
static void write_after_name(struct out *out, bool bare, const char *sign, const char *note) {
    if (bare)
        out_words(out, "()");
    write_words(out, sign);
    if (*note) {
        out_words(out, " /* ");
        write_words(out, note);
        out_words(out, " */");
    }
    out_char(out, '\n');
}

/* The note on LINE, brief if the line would be too long. Returns the columns beside the name:
 * OTHERS, and with a note AROUND and its own. */
static size_t fit_note(const struct text_view *t, const struct line *line, size_t others,
                       size_t around, char note[NOTE_ROOM]) {
    struct indent indent = indent_of(line->depth, t->levels);
    size_t width = t->look->term.width, name = label_of(t, line->function)->columns;
    size_t least = t->margin + indent_columns(&indent) +
                   (name < LEAST_NAME_COLUMNS ? name : LEAST_NAME_COLUMNS);
    note_of(line, false, note);
    if (width && *note && least + others + around + columns_of(note) > width)
        note_of(line, true, note);
    return others + (*note ? around + columns_of(note) : 0);
}

static void write_plain_begun(const struct text_view *t, const struct line *line,
                              const char *sign) {
    enum { AROUND = sizeof " /*  */" - 1 };
    const struct label *label = label_of(t, line->function);
    char note[NOTE_ROOM];
    size_t others = (label->bare ? 2 : 0) + strlen(sign);
    others = fit_note(t, line, others, AROUND, note);
    write_name(t, label, line->depth, others);
    write_after_name(t->out, label->bare, sign, note);
}

/* As many columns of TEXT as are left on a terminal's line. */
static void write_fitting(const struct text_view *t, struct words *text, size_t used) {
    size_t width = t->look->term.width;
    if (!width) {
        out_text(t->out, text->at, text->count);
        return;
    }
    AUTO_FREE char *cut = text_cut(words_text(text), width > used ? width - used : 1);
    write_words(t->out, cut);
}

/* The length of a name without its parameters, which the arguments replace. */
static size_t length_before_parameters(const struct label *label) {
    int nesting = 0;
    size_t length = label->length;
    if (label->bare)
        return length;
    while (length > 0) {
        char c = label->name[--length];
        nesting += c == ')' ? 1 : c == '(' ? -1 : 0;
        if (c == '(' && nesting == 0)
            return length;
    }
    return label->length;
}

/* "make(i=3) = 5;" instead of "make();". */
static void write_begun_with(const struct text_view *t, const struct line *line,
                             struct words *arguments, const char *after) {
    const struct label *label = label_of(t, line->function);
    size_t length = length_before_parameters(label);
    size_t used = t->margin + indent_of(line->depth, t->levels).columns;
    struct words text = {0};
    words_add_bytes(&text, label->name, length);
    words_char(&text, '(');
    words_add_bytes(&text, arguments->at, arguments->count);
    words_add(&text, ")");
    words_add(&text, after);
    write_fitting(t, &text, used);
    out_char(t->out, '\n');
    words_done(&text);
}

/* " = VALUE" */
static bool add_result(const struct text_view *t, const struct line *line, struct words *ret) {
    const struct shown_call call = shown_line(line);
    struct words value = {0};
    bool any = shown_result(t->values, &call, &value);
    if (any) {
        words_add(ret, " = ");
        words_add_bytes(ret, value.at, value.count);
    }
    words_done(&value);
    return any;
}

static void write_begun(const struct text_view *t, const struct line *line, const char *sign) {
    char note[NOTE_ROOM];
    struct words arguments = {0}, result = {0};
    note_of(line, false, note);
    const struct shown_call call = shown_line(line);
    bool any = shown_arguments(t->values, &call, &arguments);
    bool ended = line->kind == LINE_LEAF && add_result(t, line, &result);
    if (any || ended) {
        words_add(&result, sign);
        if (*note) {
            words_add(&result, " /* ");
            words_add(&result, note);
            words_add(&result, " */");
        }
        write_begun_with(t, line, &arguments, words_text(&result));
    } else {
        write_plain_begun(t, line, sign);
    }
    words_done(&arguments);
    words_done(&result);
}

static void write_open(const struct text_view *t, const struct line *line) {
    write_begun(t, line, " {");
}

static void write_leaf(const struct text_view *t, const struct line *line) {
    write_begun(t, line, ";");
}

/* " = VALUE" behind the brace. Returns its columns. */
static size_t write_result(const struct text_view *t, const struct line *line) {
    struct words result = {0};
    size_t columns = 0, used = t->margin + indent_of(line->depth, t->levels).columns + 1;
    if (add_result(t, line, &result)) {
        columns = text_columns(words_text(&result));
        write_fitting(t, &result, used);
    }
    words_done(&result);
    return columns;
}

static void write_close(const struct text_view *t, const struct line *line) {
    enum { OTHERS = sizeof "} /*  */" - 1, AROUND = sizeof ": " - 1 };
    char note[NOTE_ROOM];
    out_char(t->out, '}');
    size_t result = write_result(t, line);
    size_t others = fit_note(t, line, OTHERS + result, AROUND, note);
    out_words(t->out, " /* ");
    write_name(t, label_of(t, line->function), line->depth, others);
    if (*note) {
        out_words(t->out, ": ");
        write_words(t->out, note);
    }
    out_words(t->out, " */\n");
}

static void write_lost(const struct text_view *t, const struct line *line) {
    begin_color(t, RED);
    out_words(t->out, "/* ");
    out_number(t->out, line->lost);
    write_words(t->out, line->lost == 1 ? " event lost */" : " events lost */");
    end_color(t);
    out_char(t->out, '\n');
}

static void write_pause(const struct text_view *t, const struct line *line) {
    begin_color(t, YELLOW);
    out_words(t->out, "/* paused: ");
    write_words(t->out, pause_cause(line->cause));
    if (line->in_call)
        out_words(t->out, ", in a system call");
    out_words(t->out, " */");
    end_color(t);
    out_char(t->out, '\n');
}

/* "python:line(arg1=…)". */
static void write_mark(const struct text_view *t, const struct line *line) {
    struct words arguments = {0};
    const struct shown_call call = shown_line(line);
    shown_arguments(t->values, &call, &arguments);
    begin_color(t, YELLOW);
    write_begun_with(t, line, &arguments, "");
    end_color(t);
    words_done(&arguments);
}

static void write_change(const struct text_view *t, const struct line *line) {
    AUTO_FREE char *text = changed_text(line->change);
    struct indent indent = indent_of(line->depth, t->levels);
    size_t used = t->margin + indent_columns(&indent) + strlen("/*  */");
    size_t room = t->look->term.width > used ? t->look->term.width - used : 1;
    AUTO_FREE char *shown = label_cut(&t->look->term, text, room);
    begin_color(t, YELLOW);
    out_words(t->out, "/* ");
    write_words(t->out, shown);
    out_words(t->out, " */");
    end_color(t);
    out_char(t->out, '\n');
}

/* Writes the recorded callers below an entry. */
static void write_callers(const struct text_view *t, const struct line *line) {
    unsigned before = t->margin + indent_of(line->depth, t->levels).columns + 2;
    unsigned used = before + (unsigned)strlen("/* <  */"), width = t->look->term.width;
    AUTO_FREE char *callers = callers_text(t->places, line->chain, t->names);
    AUTO_FREE char *fitted = width ? text_cut(callers, width > used ? width - used : 1) : NULL;
    out_spaces(t->out, before);
    out_words(t->out, "/* < ");
    write_words(t->out, fitted ? fitted : callers);
    out_words(t->out, " */\n");
}

static void write_line(struct text_view *t, const struct line *line) {
    static void (*const writers[])(const struct text_view *, const struct line *) = {
        [LINE_ENTRY] = write_open, [LINE_EXIT] = write_close,  [LINE_LEAF] = write_leaf,
        [LINE_LOST] = write_lost,  [LINE_PAUSE] = write_pause, [LINE_CHANGE] = write_change,
        [LINE_MARK] = write_mark};
    write_margin(t, line);
    writers[line->kind](t, line);
    if (t->places && (line->kind == LINE_ENTRY || line->kind == LINE_LEAF) && line->chain)
        write_callers(t, line);
    replay_columns_note(&t->columns, line);
}

/* Writes "# 17 events lost" if events were lost; each part for itself if the line is too long. */
static void write_footer(const struct text_view *t) {
    const char *losses = view_losses(t->view);
    if (!losses)
        return;
    begin_color(t, RED);
    size_t width = t->look->term.columns;
    const char *gap = width && columns_of(losses) + 2 > width ? strstr(losses, "; ") : NULL;
    out_words(t->out, "# ");
    if (gap) {
        out_text(t->out, losses, (size_t)(gap - losses) + 1);
        out_words(t->out, "\n# ");
        losses = gap + 2;
    }
    write_words(t->out, losses);
    end_color(t);
    out_char(t->out, '\n');
}

static void begin(struct text_view *t) {
    t->labels = mem_alloc(names_count(t->view->source.names) * sizeof *t->labels);
    replay_columns_init(&t->columns, t->view, t->look);
    t->margin = replay_columns_margin(&t->columns);
    t->levels = indent_limit(t->look->term.columns, t->margin);
    t->names = labels_new(t->view->source.names, &t->look->term);
    if (t->look->stacks)
        t->places = places_new(t->view->source.reader, t->view->source.names);
    t->values = call_values_new(t->view->source.reader, t->view->source.names);
}

/* Writes LINE now or, if it is the exit of an open call, at the end. */
static void take_line(struct text_view *t, const struct line *line) {
    if (line->kind == LINE_EXIT && line->how == CALL_OPEN)
        ARRAY_PUSH(&t->still_open, *line);
    else
        write_line(t, line);
}

static void write_end(struct text_view *t) {
    for (size_t i = 0; i < t->still_open.count; i++)
        write_line(t, &t->still_open.at[i]);
    write_footer(t);
}

static void done(struct text_view *t) {
    ARRAY_FREE(&t->still_open);
    places_free(t->places);
    call_values_free(t->values);
    replay_columns_done(&t->columns);
    free(t->labels);
    labels_free(t->names);
}

void replay_text(const struct view *view, const struct replay_look *look, struct out *out) {
    struct text_view t = {.out = out, .view = view, .look = look};
    begin(&t);
    struct lines *lines = lines_new(&view->source, true);
    lines_want_marks(lines);
    replay_columns_head(&t.columns, out);
    for (const struct line *line; !out->error && (line = lines_next(lines));)
        take_line(&t, line);
    write_end(&t);
    lines_free(lines);
    done(&t);
}

void replay_text_part(const struct view *view, const struct replay_look *look, struct out *out,
                      struct follow_part *part) {
    struct text_view t = {.out = out, .view = view, .look = look};
    struct line_part lines;
    begin(&t);
    line_part_read(&lines, &view->source, part, true);
    if (part->first)
        replay_columns_head(&t.columns, out);
    for (size_t i = 0; i < lines.list.count && !out->error; i++)
        take_line(&t, &lines.list.at[i]);
    if (part->last)
        write_end(&t);
    line_part_done(&lines);
    done(&t);
}

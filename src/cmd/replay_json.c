/* The JSON of a call trace: one object for each line. */
#include <string.h>

#include "analyze/lines.h"
#include "base/mem.h"
#include "cmd/callers.h"
#include "cmd/change_texts.h"
#include "cmd/json.h"
#include "cmd/line_part.h"
#include "cmd/replay.h"
#include "cmd/shown_values.h"
#include "cmd/spell.h"

/* What lines have besides: each may be NULL. */
struct decor {
    struct places *places;
    struct call_values *values;
};

static char *compose(struct names *names, uint32_t function) {
    AUTO_FREE char *name = json_string(names_function(names, function));
    AUTO_FREE char *module = json_string(names_module_name(names, names_module(names, function)));
    return mem_printf("\",\"function\":%s,\"module\":%s", name, module);
}

static void write_begin(struct out *out, const struct trace_reader *reader,
                        const struct line *line) {
    out_words(out, "{\"t_ns\":");
    out_number(out, line->ns);
    out_words(out, ",\"tid\":");
    out_number(out, trace_reader_thread(reader, line->stream)->tid);
    out_words(out, ",\"depth\":");
    out_number(out, line->depth);
}

static void write_marks(struct out *out, const struct line *line) {
    if (line->before)
        out_words(out, ",\"before\":true");
    if (line->clipped)
        out_words(out, ",\"clipped\":true");
}

static void write_pause(struct out *out, const struct line *line) {
    const char *cause = pause_cause(line->cause);
    out_words(out, ",\"kind\":\"pause\",\"function\":null,\"module\":null,\"paused_ns\":");
    out_number(out, line->duration_ns);
    out_words(out, ",\"cause\":\"");
    out_text(out, cause, strlen(cause));
    out_char(out, '"');
    if (line->in_call)
        out_words(out, ",\"in_call\":true");
}

static void write_exit(struct out *out, const struct trace_reader *reader, struct speller *speller,
                       const struct line *line) {
    if (line->how == CALL_UNWOUND || line->how == CALL_MISSED || line->how == CALL_THREAD_ENDED)
        out_words(out, ",\"kind\":\"unwound");
    else if (line->how == CALL_CUT)
        out_words(out, ",\"kind\":\"cut");
    else
        out_words(out, ",\"kind\":\"exit");
    out_spelled(out, speller, line->function);
    out_words(out, ",\"duration_ns\":");
    out_number(out, line->duration_ns);
    if (line->paused_ns) {
        out_words(out, ",\"paused_ns\":");
        out_number(out, line->paused_ns);
    }
    if (line->began != line->stream) {
        out_words(out, ",\"began_tid\":");
        out_number(out, trace_reader_thread(reader, line->began)->tid);
    }
    if (line->how == CALL_TAIL)
        out_words(out, ",\"tail\":true");
    if (line->inferred)
        out_words(out, ",\"inferred\":true");
    else if (line->how == CALL_THREAD_ENDED)
        out_words(out, ",\"open\":true");
    write_marks(out, line);
}

static void write_change(struct out *out, const struct change *change) {
    AUTO_FREE char *members = changed_members(change);
    const char *kind = changed_kind(change);
    out_words(out, "{\"t_ns\":");
    out_number(out, change->ns);
    out_words(out, ",\"tid\":");
    out_number(out, change->pid);
    out_words(out, ",\"depth\":0,\"kind\":\"");
    out_text(out, kind, strlen(kind));
    out_words(out, "\",\"function\":null,\"module\":null");
    out_text(out, members, strlen(members));
    out_words(out, "}\n");
}

static void write_values(struct out *out, struct call_values *values, const struct line *line) {
    const struct shown_call call = shown_line(line);
    struct words text = {0};
    if (line->kind == LINE_ENTRY || line->kind == LINE_MARK)
        shown_arguments_json(values, &call, &text);
    else
        shown_result_json(values, &call, &text);
    if (text.count)
        out_text(out, text.at, text.count);
    words_done(&text);
}

/* PLACES names the callers; NULL: callers are not written. */
static void write_entry(struct out *out, const struct decor *decor, const struct line *line) {
    struct places *places = decor->places;
    write_marks(out, line);
    if (decor->values)
        write_values(out, decor->values, line);
    if (!places)
        return;
    AUTO_FREE char *callers = callers_json(places, line->chain, true);
    out_text(out, callers, strlen(callers));
}

static void write_line(struct out *out, const struct trace_reader *reader, struct speller *speller,
                       const struct decor *decor, const struct line *line) {
    if (line->kind == LINE_EXIT && line->how == CALL_OPEN)
        return; /* it did not end in the trace */
    if (line->kind == LINE_CHANGE) {
        write_change(out, line->change);
        return;
    }
    write_begin(out, reader, line);
    if (line->kind == LINE_ENTRY) {
        out_words(out, ",\"kind\":\"entry");
        out_spelled(out, speller, line->function);
        write_entry(out, decor, line);
    } else if (line->kind == LINE_EXIT) {
        write_exit(out, reader, speller, line);
        if (decor->values)
            write_values(out, decor->values, line);
    } else if (line->kind == LINE_MARK) {
        out_words(out, ",\"kind\":\"mark");
        out_spelled(out, speller, line->function);
        if (decor->values)
            write_values(out, decor->values, line);
    } else if (line->kind == LINE_PAUSE) {
        write_pause(out, line);
    } else {
        out_words(out, ",\"kind\":\"lost\",\"function\":null,\"module\":null,\"count\":");
        out_number(out, line->lost);
    }
    out_words(out, "}\n");
}

static void write_lines(const struct view *view, struct places *places, struct out *out) {
    struct speller speller;
    struct decor decor = {.places = places};
    if (!view->hides_values)
        decor.values = call_values_new(view->source.reader, view->source.names);
    speller_init(&speller, view->source.names, compose);
    struct lines *lines = lines_new(&view->source, false);
    lines_want_marks(lines);
    for (const struct line *line; !out->error && (line = lines_next(lines));)
        write_line(out, view->source.reader, &speller, &decor, line);
    lines_free(lines);
    call_values_free(decor.values);
    speller_done(&speller);
}

void replay_json(const struct view *view, struct out *out) { write_lines(view, NULL, out); }

void replay_json_stacks(const struct view *view, struct out *out) {
    struct places *places = places_new(view->source.reader, view->source.names);
    write_lines(view, places, out);
    places_free(places);
}

void replay_json_part(const struct view *view, const struct replay_look *look, struct out *out,
                      struct follow_part *part) {
    struct trace_reader *reader = view->source.reader;
    struct places *places = look->stacks ? places_new(reader, view->source.names) : NULL;
    struct decor decor = {places, call_values_new(reader, view->source.names)};
    struct speller speller;
    struct line_part lines;
    speller_init(&speller, view->source.names, compose);
    line_part_read(&lines, &view->source, part, false);
    for (size_t i = 0; i < lines.list.count && !out->error; i++)
        write_line(out, reader, &speller, &decor, &lines.list.at[i]);
    line_part_done(&lines);
    speller_done(&speller);
    call_values_free(decor.values);
    places_free(places);
}

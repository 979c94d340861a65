/* Values in lines. */
#include "cmd/shown_values.h"

static bool find_entry(struct call_values *v, const struct line *line,
                       struct trace_occurrence *ret) {
    const enum event_kind kind = line->kind == LINE_MARK ? EVENT_CONTROL : EVENT_ENTRY;
    struct call_point point = {line->stream, line->id, kind, line->ns};
    return v && !line->before && call_values_find(v, &point, ret);
}

static bool find_return(struct call_values *v, const struct line *line,
                        struct trace_occurrence *ret) {
    struct call_point point = {line->stream, line->id, EVENT_RETURN, line->end_ns};
    return v && line->how == CALL_RETURNED && call_values_find(v, &point, ret);
}

bool shown_arguments(struct call_values *v, const struct line *line, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    if (!find_entry(v, line, &o))
        return false;
    for (size_t at = 0, count = 0; item_next(o.capture, o.values, &at, &item); count++) {
        words_add(ret, count ? ", " : "");
        words_add(ret, item.values[0].name);
        words_char(ret, '=');
        print_text(call_values_printer(v), &item, ret);
    }
    return true;
}

bool shown_result(struct call_values *v, const struct line *line, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    if (!find_return(v, line, &o) || !o.capture->count)
        return false;
    words_add(ret, " = ");
    for (size_t at = 0, count = 0; item_next(o.capture, o.values, &at, &item); count++) {
        bool named = strcmp(item.values[0].name, "ret") != 0;
        words_add(ret, count ? ", " : "");
        words_add(ret, named ? item.values[0].name : "");
        words_add(ret, named ? "=" : "");
        print_text(call_values_printer(v), &item, ret);
    }
    return true;
}

/* ---- JSON ---- */

static void add_item(struct call_values *v, const struct item *item, bool named,
                     struct words *ret) {
    const struct printer *p = call_values_printer(v);
    const char *missing = print_missing(item);
    words_add(ret, named ? "{\"name\":" : "{");
    if (named)
        words_json_text(ret, item->values[0].name);
    words_add(ret, named ? ",\"type\":" : "\"type\":");
    print_type(p->types, item, ret);
    words_add(ret, ",\"value\":");
    print_json(p, item, ret);
    if (missing)
        words_printf(ret, ",\"missing\":\"%s\"", missing);
    words_add(ret, print_is_cut(p, item) ? ",\"cut\":true}" : "}");
}

void shown_arguments_json(struct call_values *v, const struct line *line, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    if (!find_entry(v, line, &o))
        return;
    words_add(ret, ",\"args\":[");
    for (size_t at = 0, count = 0; item_next(o.capture, o.values, &at, &item); count++) {
        words_add(ret, count ? "," : "");
        add_item(v, &item, true, ret);
    }
    words_char(ret, ']');
}

/* One result is an object; several expressions are a list of named ones. */
void shown_result_json(struct call_values *v, const struct line *line, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    size_t at = 0, count = 0;
    if (!find_return(v, line, &o) || !item_next(o.capture, o.values, &at, &item))
        return;
    bool single = at == o.capture->count && strcmp(item.values[0].name, "ret") == 0;
    words_add(ret, single ? ",\"ret\":" : ",\"ret\":[");
    for (at = 0; item_next(o.capture, o.values, &at, &item); count++) {
        words_add(ret, count ? "," : "");
        add_item(v, &item, !single, ret);
    }
    words_add(ret, single ? "" : "]");
}

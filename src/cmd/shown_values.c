/* Values in lines. */
#include "cmd/shown_values.h"

struct shown_call shown_line(const struct line *line) {
    const enum event_kind kind = line->kind == LINE_MARK ? EVENT_CONTROL : EVENT_ENTRY;
    return (struct shown_call){.entry = {line->stream, line->id, kind, line->ns},
                               .end = {line->stream, line->id, EVENT_RETURN, line->end_ns},
                               .has_entry = !line->before,
                               .has_end = line->how == CALL_RETURNED};
}

struct shown_call shown_walk_call(const struct walk_call *call) {
    return (struct shown_call){.entry = {call->stream, call->id, EVENT_ENTRY, call->start_ns},
                               .end = {call->end_stream, call->id, EVENT_RETURN, call->end_ns},
                               .has_entry = !call->before,
                               .has_end = call->how == CALL_RETURNED};
}

struct shown_call shown_walk_mark(const struct walk_mark *mark) {
    return (struct shown_call){.entry = {mark->stream, mark->id, EVENT_CONTROL, mark->ns},
                               .has_entry = true};
}

static bool find_entry(struct call_values *v, const struct shown_call *call,
                       struct trace_occurrence *ret) {
    return v && call->has_entry && call_values_find(v, &call->entry, ret);
}

static bool find_return(struct call_values *v, const struct shown_call *call,
                        struct trace_occurrence *ret) {
    return v && call->has_end && call_values_find(v, &call->end, ret);
}

void shown_occurrence(struct call_values *v, const struct trace_occurrence *o, bool is_result,
                      struct words *ret) {
    struct item item;
    for (size_t at = 0, count = 0; item_next(o->capture, o->values, &at, &item); count++) {
        bool named = !is_result || strcmp(item.values[0].name, "ret") != 0;
        words_add(ret, count ? ", " : "");
        words_add(ret, named ? item.values[0].name : "");
        words_add(ret, named ? "=" : "");
        print_text(call_values_printer(v), &item, ret);
    }
}

bool shown_arguments(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct trace_occurrence o;
    if (!find_entry(v, call, &o))
        return false;
    shown_occurrence(v, &o, false, ret);
    return true;
}

bool shown_result(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct trace_occurrence o;
    if (!find_return(v, call, &o) || !o.capture->count)
        return false;
    shown_occurrence(v, &o, true, ret);
    return true;
}

/* ---- JSON ---- */

static void add_item(struct call_values *v, const struct item *item, bool named,
                     struct words *ret) {
    const struct printer *p = call_values_printer(v);
    const char *missing = print_missing(p, item);
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

bool shown_arguments_list(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    if (!find_entry(v, call, &o))
        return false;
    words_char(ret, '[');
    for (size_t at = 0, count = 0; item_next(o.capture, o.values, &at, &item); count++) {
        words_add(ret, count ? "," : "");
        add_item(v, &item, true, ret);
    }
    words_char(ret, ']');
    return true;
}

/* ITEM, the first one, ends at AT. */
static bool is_single(const struct trace_occurrence *o, size_t at, const struct item *item) {
    return at == o->capture->count && strcmp(item->values[0].name, "ret") == 0;
}

bool shown_result_list(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    size_t at = 0, count = 0;
    if (!find_return(v, call, &o) || !item_next(o.capture, o.values, &at, &item))
        return false;
    bool single = is_single(&o, at, &item);
    words_add(ret, single ? "" : "[");
    for (at = 0; item_next(o.capture, o.values, &at, &item); count++) {
        words_add(ret, count ? "," : "");
        add_item(v, &item, !single, ret);
    }
    words_add(ret, single ? "" : "]");
    return true;
}

static void add_member(const char *name, const struct words *value, struct words *ret) {
    words_printf(ret, ",\"%s\":", name);
    words_add_bytes(ret, value->at, value->count);
}

void shown_arguments_json(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct words list = {0};
    if (shown_arguments_list(v, call, &list))
        add_member("args", &list, ret);
    words_done(&list);
}

void shown_result_json(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct words list = {0};
    if (shown_result_list(v, call, &list))
        add_member("ret", &list, ret);
    words_done(&list);
}

/* ---- JSON without types ---- */

static void add_members(struct call_values *v, const struct trace_occurrence *o,
                        struct words *ret) {
    struct item item;
    words_char(ret, '{');
    for (size_t at = 0, count = 0; item_next(o->capture, o->values, &at, &item); count++) {
        words_add(ret, count ? "," : "");
        words_json_text(ret, item.values[0].name);
        words_char(ret, ':');
        print_json(call_values_printer(v), &item, ret);
    }
    words_char(ret, '}');
}

bool shown_arguments_object(struct call_values *v, const struct shown_call *call,
                            struct words *ret) {
    struct trace_occurrence o;
    if (!find_entry(v, call, &o) || !o.capture->count)
        return false;
    add_members(v, &o, ret);
    return true;
}

void shown_values_object(struct call_values *v, const struct shown_call *call, bool is_result,
                         struct words *ret) {
    if (is_result)
        shown_result_object(v, call, ret);
    else
        shown_arguments_object(v, call, ret);
}

bool shown_result_object(struct call_values *v, const struct shown_call *call, struct words *ret) {
    struct trace_occurrence o;
    struct item item;
    size_t at = 0;
    if (!find_return(v, call, &o) || !item_next(o.capture, o.values, &at, &item))
        return false;
    if (is_single(&o, at, &item))
        print_json(call_values_printer(v), &item, ret);
    else
        add_members(v, &o, ret);
    return true;
}

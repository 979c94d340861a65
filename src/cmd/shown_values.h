/* How views show the values of a call. Private to views. */
#pragma once

#include "analyze/call_values.h"
#include "analyze/lines.h"

/* A call of which values are shown: where it began, and where it ended. */
struct shown_call {
    struct call_point entry, end; /* `end` is set only if it returned */
    bool has_entry, has_end;
};
struct shown_call shown_line(const struct line *line);
/* Its end only where the walk closes it. */
struct shown_call shown_walk_call(const struct walk_call *call);

/* A mark: it has arguments only. */
struct shown_call shown_walk_mark(const struct walk_mark *mark);

/* "i=3, s=\"x\"": false if nothing was captured at its entry. */
bool shown_arguments(struct call_values *v, const struct shown_call *call, struct words *ret);
/* "{id=3}" of a call that has ended. */
bool shown_result(struct call_values *v, const struct shown_call *call, struct words *ret);
/* The same of what call_values_at() has found. */
void shown_occurrence(struct call_values *v, const struct trace_occurrence *o, bool is_result,
                      struct words *ret);
/* [{"name":"i","type":"int","value":3}]. */
bool shown_arguments_list(struct call_values *v, const struct shown_call *call, struct words *ret);
/* One result is an object; several expressions are a list of named ones. */
bool shown_result_list(struct call_values *v, const struct shown_call *call, struct words *ret);
/* The same as members of an object, ",\"args\":[…]" and ",\"ret\":{…}", or nothing. */
void shown_arguments_json(struct call_values *v, const struct shown_call *call, struct words *ret);
void shown_result_json(struct call_values *v, const struct shown_call *call, struct words *ret);
/* Without types: {"i":3,"s":"x"}; a single result is its value alone. */
bool shown_arguments_object(struct call_values *v, const struct shown_call *call,
                            struct words *ret);
bool shown_result_object(struct call_values *v, const struct shown_call *call, struct words *ret);
/* The one of the result, or that of the arguments. */
void shown_values_object(struct call_values *v, const struct shown_call *call, bool is_result,
                         struct words *ret);

/* How views show the values of a call. Private to views. */
#pragma once

#include "analyze/call_values.h"
#include "analyze/lines.h"

/* "i=3, s=\"x\"": false if nothing was captured at the entry of LINE's call. */
bool shown_arguments(struct call_values *v, const struct line *line, struct words *ret);
/* " = {id=3}" of a call that has ended at LINE. */
bool shown_result(struct call_values *v, const struct line *line, struct words *ret);
/* ",\"args\":[…]" and ",\"ret\":{…}", or nothing. */
void shown_arguments_json(struct call_values *v, const struct line *line, struct words *ret);
void shown_result_json(struct call_values *v, const struct line *line, struct words *ret);

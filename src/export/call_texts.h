/*
 * The values of calls (export --values) as texts: those of the arguments are read when a call
 * begins, and kept until it is written. So blocks of values are read in the order of time.
 */
#pragma once

#include "cmd/shown_values.h"
#include "export/export.h"

/* Writes the arguments of CALL, or its result. */
typedef void call_text_write(struct call_values *v, const struct shown_call *call, bool is_result,
                             struct words *ret);
struct call_texts;
/* NULL: the view hides values, or the trace has none. */
struct call_texts *call_texts_new(const struct view *view, call_text_write *write);
void call_texts_free(struct call_texts *t); /* may be NULL */

enum { CALL_TEXTS_NONE = UINT32_MAX };
/* The number of an open call's texts; CALL_TEXTS_NONE if T is NULL. */
uint32_t call_texts_begin(struct call_texts *t, const struct walk_call *call);
void call_texts_end(struct call_texts *t, uint32_t number, const struct walk_call *call);
/* Of a call that has ended. Empty if nothing was captured. */
const struct words *call_texts_arguments(const struct call_texts *t, uint32_t number);
const struct words *call_texts_result(const struct call_texts *t, uint32_t number);
void call_texts_forget(struct call_texts *t, uint32_t number);

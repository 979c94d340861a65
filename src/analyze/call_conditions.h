/*
 * Conditions on the values of calls (--where): of the functions that a pattern names, only calls
 * for which the condition holds are shown. What is called in the other ones is shown, as of their
 * callers. A call whose values are not known is not shown.
 */
#pragma once

#include "analyze/names.h"
#include "base/mem.h"

typedef ARRAY(const char *) condition_texts;

struct condition;
struct call_conditions;
/* TEXTS are as typed: PATTERN/CONDITION/. Errors: EINVAL "spec", "bad-pattern"; ENOENT "no-match".
 * *RET is NULL if there are none. */
int call_conditions_new(const condition_texts *texts, struct names *names,
                        struct call_conditions **ret, struct err *err);
void call_conditions_free(struct call_conditions *c); /* may be NULL */
/* Whether calls of FUNCTION have conditions. */
bool call_conditions_concern(const struct call_conditions *c, uint32_t function);
/* Whether the call that began in STREAM at NS is to be shown. For any thread. */
bool call_conditions_hold(const struct call_conditions *c, uint32_t stream, uint64_t ns);

/* ---- for the judges of calls (judge_calls.h) ---- */

/* Condition I, and whether FUNCTION has it; NULL: there are no more. */
const struct condition *call_conditions_get(const struct call_conditions *c, size_t i);
bool call_conditions_has(const struct call_conditions *c, size_t i, uint32_t function);
/* The call that began in STREAM at NS is not to be shown. After the last one:
 * call_conditions_end(). */
void call_conditions_leave_out(struct call_conditions *c, uint32_t stream, uint64_t ns);
void call_conditions_end(struct call_conditions *c);

/*
 * Conditions on the values of calls (--where): of the functions that a pattern names, only calls
 * for which the condition holds are shown. What is called in the other ones is shown, as of their
 * callers. A call whose values are not known is not shown.
 */
#pragma once

#include "analyze/names.h"
#include "base/mem.h"

typedef ARRAY(const char *) condition_texts;

struct source;
struct call_conditions;
/* TEXTS are as typed: PATTERN/CONDITION/. Errors: EINVAL "spec", "bad-pattern"; ENOENT "no-match".
 * *RET is NULL if there are none. */
int call_conditions_new(const condition_texts *texts, struct names *names,
                        struct call_conditions **ret, struct err *err);
void call_conditions_free(struct call_conditions *c); /* may be NULL */
/* Whether calls of FUNCTION have conditions. */
bool call_conditions_concern(const struct call_conditions *c, uint32_t function);
/* Reads the whole trace, and judges all calls. Progress and damage are not told. */
void call_conditions_judge(struct call_conditions *c, const struct source *source);
/* Whether the call that began in STREAM at NS is to be shown. For any thread. */
bool call_conditions_hold(const struct call_conditions *c, uint32_t stream, uint64_t ns);
/* How many calls are not shown, and how many of them because a value is not known. */
struct condition_counts {
    uint64_t left_out, unknown;
};
struct condition_counts call_conditions_counts(const struct call_conditions *c);

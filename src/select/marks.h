/*
 * The USDT probes of a module that --usdt chooses (elf/probes.h). In the trace each occurrence is a
 * mark: a control event with an id of its own, and the values of the probe's arguments.
 */
#pragma once

#include "select/arguments.h"

/* True if the filter of C chooses a probe of M. What is damaged is reported once. */
bool marks_wanted(const struct arguments_context *c, struct traced_module *m);
/* Fills M's choice.marks, once M is planned and has ids. */
void marks_choose(const struct arguments_context *c, struct traced_module *m);
/* Describes M's probes in the trace. */
void marks_write(struct trace_writer *writer, struct traced_module *m);
/* How many probes of M have ids: all of them. */
size_t marks_count(struct traced_module *m, const struct report *report);
/* Warns of each pattern that has matched no probe in COUNT modules. */
void marks_report_unmatched(const struct filter *filter, struct traced_module *const *modules,
                            size_t count, const struct report *report);
/* Returns −ENOENT "no-match" if --usdt was given, and matches no probe that can be recorded. */
int marks_check(const struct filter *filter, struct traced_module *const *modules, size_t count,
                struct err *err);
void marks_free(struct traced_module *m);

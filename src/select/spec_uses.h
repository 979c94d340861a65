/*
 * Which functions each -A, -R and --where fits. An option that fits none of the functions that it
 * names is the user's error. One that fits only some is worth a warning.
 */
#pragma once

#include "base/filter.h"
#include "base/report.h"

struct traced_module;
struct spec_uses;

struct spec_uses *spec_uses_new(void);
void spec_uses_free(struct spec_uses *u); /* may be NULL */
/* Forgets what was noted for functions of M. */
void spec_uses_forget(struct spec_uses *u, const struct traced_module *m);
/* OPTION names the function number FUNCTION of M. WHY: it does not fit; NULL: it does. */
void spec_uses_note(struct spec_uses *u, const struct traced_module *m, uint32_t function,
                    const struct capture_option *option, const struct err *why);
/* The condition of OPTION fits that function, but none of its calls can meet it: what OPERAND means
 * has no known place at its events. */
void spec_uses_note_never(struct spec_uses *u, const struct traced_module *m, uint32_t function,
                          const struct capture_option *option, const char *operand);
/* EINVAL "spec": a SPEC or a condition of FILTER fits no function, but names some. Of several ones,
 * the last is the error, and the others are reported. */
int spec_uses_check(const struct spec_uses *u, const struct filter *filter,
                    const struct report *report, struct err *err);
/* Warns of each option of FILTER that does not fit all functions, once. Without a SPEC, only of
 * those that fit none. Likewise of conditions that no call of some functions can meet. */
void spec_uses_report(struct spec_uses *u, const struct filter *filter,
                      const struct report *report);

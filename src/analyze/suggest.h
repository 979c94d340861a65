/* "Did you mean": the names of a trace that are similar to a mistyped one. */
#pragma once

#include "analyze/names.h"

enum { SUGGEST_ROOM = 384 };

/* Fill TEXT with " (did you mean A, B, C?)", or nothing if no name is near. TYPED: a pattern, or a
 * glob on modules. Only instrumented functions are suggested. */
void suggest_functions(struct names *names, const struct pattern *typed, char text[SUGGEST_ROOM]);
void suggest_processes(const struct trace_reader *r, const char *typed, char text[SUGGEST_ROOM]);
void suggest_modules(struct names *names, const char *typed, char text[SUGGEST_ROOM]);

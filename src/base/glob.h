/*
 * Name patterns as users type them: a glob ("foo*"), or /an extended regular
 * expression/; with an optional "module!" prefix (a glob on the module's file
 * name).
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct pattern;

/* Parses TEXT. Errors: EINVAL "bad-pattern". */
int pattern_new(const char *text, struct pattern **ret, struct err *err);
void pattern_free(struct pattern *pattern);
/* MODULE is a file name without directory; NAME the function's demangled name or NULL. */
bool pattern_match(const struct pattern *pattern, const char *module, const char *name);
/* True if the pattern is the full name NAME, without wildcards. */
bool pattern_names(const struct pattern *pattern, const char *module, const char *name);
bool pattern_has_module(const struct pattern *pattern);
/* True if functions of MODULE can match. */
bool pattern_match_module(const struct pattern *pattern, const char *module);
const char *pattern_text(const struct pattern *pattern);

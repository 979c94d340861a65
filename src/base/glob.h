/*
 * Name patterns as users type them: a name, which may have been copied from any output; a glob
 * ("foo*"); or /an extended regular expression/; with an optional "module!" prefix (a glob on the
 * module's file name).
 *
 * A name matches before a glob does: "f(int*)" and "V::operator[]" are names. Blanks and defaults
 * of the C++ library do not count in names (spelling.h), and "…" stands for anything between its
 * brackets, as short names are printed.
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
/* True if the pattern has wildcards, and looks like a name nevertheless, like "f(int*)". If it is
 * the name of a function, no other function is meant: then pattern_be_name() makes it match that
 * name only. */
bool pattern_may_be_name(const struct pattern *pattern);
void pattern_be_name(struct pattern *pattern);
bool pattern_has_module(const struct pattern *pattern);
/* True if functions of MODULE can match. */
bool pattern_match_module(const struct pattern *pattern, const char *module);
/* As typed. */
const char *pattern_text(const struct pattern *pattern);
/* What is behind the prefix: the name of a function, a glob, or /regular expression/. */
const char *pattern_body(const struct pattern *pattern);
/* The prefix without '!', or NULL. */
const char *pattern_module(const struct pattern *pattern);

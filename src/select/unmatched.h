/* Tells which options have chosen nothing. Most mistyped names are found so. */
#pragma once

#include "base/report.h"
#include "select/select.h"
#include "select/traced_module.h"

/* The files with code that processes have mapped, each once. */
struct mapped_paths {
    ARRAY(char *) list;
};
void mapped_paths_add(struct mapped_paths *paths, const char *path);
void mapped_paths_done(struct mapped_paths *paths);

/* Warns of each pattern of S that has matched no function, with similar names. If all have matched,
 * but none of the functions can be traced, warns of that. WHAT: what -F is called, "filter". */
void unmatched_patterns(const struct selection *s, const char *what,
                        const struct mapped_paths *paths, const struct report *report);
/* Warns of each -M that no file of PATHS matches. */
void unmatched_modules(const struct filter *filter, const struct mapped_paths *paths,
                       const struct report *report);
/* Why M, which the options choose, has no function to trace; NULL: it has some. To be freed. */
char *traced_module_why_none(const struct traced_module *m);

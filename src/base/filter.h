/* The filter of -F, -N and -M: which functions are meant. The command line, requests to a running
 * recording, and views of a trace use this type. It decides, too, which functions are patched. */
#pragma once

#include "base/glob.h"
#include "base/mem.h"

typedef ARRAY(struct pattern *) pattern_list;

/* -A, -R or --where: values are captured at entries or returns of functions. Its pattern is also
 * among those of -F. */
struct capture_option {
    char letter;                   /* 'A', 'R'; 'W': --where; 'T': --trigger */
    char *text;                    /* as typed: PATTERN, PATTERN@SPEC or PATTERN/CONDITION/ */
    char *spec;                    /* SPEC or CONDITION; NULL: by the types */
    const struct pattern *pattern; /* borrowed from filter.functions */
};

/* --usdt: USDT probes that are recorded, by their names "provider:name". */
struct probe_option {
    char *text;       /* as typed: PATTERN or PATTERN@SPEC */
    const char *spec; /* in TEXT; NULL: all arguments */
    struct pattern *pattern;
};

/* All zero: no option was given. Owns its patterns and texts. */
struct filter {
    pattern_list functions; /* -F; none: all functions */
    ARRAY(struct capture_option) captures;
    ARRAY(struct probe_option) probes; /* without -F, -A and -R no function is meant then */
    pattern_list excluded;             /* -N: override -F */
    ARRAY(char *) modules;             /* -M: globs on a module's file name */
    ARRAY(char *) files; /* -L: globs on the source file of a function; none: any file */
};

/* Adds TEXT. Errors: EINVAL "bad-pattern". */
int patterns_add(pattern_list *list, const char *text, struct err *err);
/* Frees the patterns. */
void patterns_done(pattern_list *list);

/* Adds the option -LETTER (F, N, M, L, A or R; W is --where, T --trigger, U --usdt) with VALUE.
 * Errors: EINVAL "bad-pattern". */
int filter_add(struct filter *f, char letter, const char *value, struct err *err);
/* Whether its VALUE is PATTERN/CONDITION/. */
bool filter_letter_has_condition(char letter);
/* A copy, which the caller frees with filter_done(). */
struct filter filter_copy(const struct filter *f);
void filter_done(struct filter *f);
static inline bool filter_is_empty(const struct filter *f) {
    return !f->functions.count && !f->excluded.count && !f->modules.count && !f->files.count &&
           !f->probes.count;
}
/* True if probes are asked for, and no functions besides. */
static inline bool filter_is_about_probes(const struct filter *f) {
    return f->probes.count && !f->functions.count;
}
/* The value of option I, in the order -F, -N, -M, -L, those of captures, U; NULL: no more options.
 */
const char *filter_option(const struct filter *f, size_t i, char *ret_letter);
/* The options as typed: "-F a -N b", or "". The caller frees the text. */
char *filter_text(const struct filter *f);

/* All names of one function that patterns are compared with. */
struct function_names {
    ARRAY(char *) list;
    const char *file; /* in which it begins, borrowed; NULL: not known */
};
/* NAME is copied. */
void function_names_add(struct function_names *names, const char *name);
void function_names_done(struct function_names *names);
/* True if P matches the function of MODULE by one of its NAMES. */
bool function_names_match(const struct function_names *names, const char *module,
                          const struct pattern *p);

/* True if a pattern of LIST matches the function of MODULE by one of its NAMES. */
bool patterns_match(const pattern_list *list, const char *module,
                    const struct function_names *names);
/* True if one of the patterns may be the name of a function although it has wildcards. */
bool filter_may_name(const struct filter *f);
/* To be called for all functions of a module, or of a trace, before the decisions about them: if a
 * pattern with wildcards is a name of the function, it matches functions of that name only. */
void filter_note_name(struct filter *f, const char *module, const struct function_names *names);
/* True if there is no -L, or one matches the path FILE, or what follows one of its slashes. */
bool filter_has_file(const struct filter *f, const char *file);
/* The decision: -F matches the function, or there is no -F, and likewise -L; -N does not match. */
bool filter_chooses(const struct filter *f, const char *module, const struct function_names *names);
/* True if an -F is a full name of the function, without wildcards, and -N does not match it. */
bool filter_names(const struct filter *f, const char *module, const struct function_names *names);

/* True if an -M matches the file name of PATH, or all of PATH. */
bool filter_has_module(const struct filter *f, const char *path);
/* True if an -F has the form MODULE!PATTERN, and MODULE matches the file name of PATH. */
bool filter_reaches_module(const struct filter *f, const char *path);
/* True if the filter has such an -F, or an -M. */
bool filter_is_about_modules(const struct filter *f);

/* Selects functions of modules by -F and -N, and explains when that selects none. */
#pragma once

#include "base/filter.h"
#include "base/mem.h"
#include "base/near.h"
#include "elf/module.h"
#include "plan/plan.h"

struct refused_call { /* a library call that cannot be traced */
    char *name;
    enum refusal why;
};

struct pattern_search { /* for the functions of one pattern */
    bool met;           /* it has matched a function */
    struct near_names near;
};

/* What -F without a module names. */
enum named_functions {
    NAMED_TRACED,  /* functions of the traced modules */
    NAMED_IMPORTS, /* library calls: what the program imports */
    NAMED_EXPORTS, /* likewise, of a program that looks names up: all that libraries export */
};

struct selection {
    const struct filter *filter;     /* borrowed */
    size_t matched;                  /* functions that the filter has chosen so far */
    size_t traceable;                /* matched functions that have a tier */
    struct pattern_search *searches; /* by selection_pattern() */
    size_t search_count;
    enum named_functions named;
    bool has_files;                     /* source files of functions are known; only with -L */
    ARRAY(struct refused_call) refused; /* each name once */
};

void selection_init(struct selection *s, const struct filter *filter);
void selection_done(struct selection *s);
/* Pattern I of the filter: those of -F, then those of -N; NULL: no more. */
const struct pattern *selection_pattern(const struct selection *s, size_t i);
/* False if the symbols of MODULE show that the filter chooses none of its functions. Then MODULE
 * need not be planned. */
bool selection_may_select(struct selection *s, const struct module *module);
/* A bitmap by function index (to be freed); *ret_count: selected functions that have a tier. */
uint8_t *selection_apply(struct selection *s, const struct module *module, const struct plan *plan,
                         size_t *ret_count);
/* A bitmap (to be freed) of the functions that -F names in full, and -N does not exclude. */
uint8_t *selection_named(const struct filter *filter, const struct module *module,
                         const struct plan *plan);
/* True if the filter chooses library calls of F of MODULE by NAME. -F without a module is compared
 * with NAME, and -N with all names of F. */
bool selection_takes_call(struct selection *s, const char *module, const struct plan_function *f,
                          const char *name);
void selection_note_refused(struct selection *s, const char *name, enum refusal why);
/* One line about the refused calls, or NULL. To be freed. */
char *selection_refused(const struct selection *s);
/* Returns −ENOENT "no-match": WHAT ("filter", "trigger") TEXT matches no function. The message
 * names functions similar to selection_pattern(I). */
int selection_no_match(const struct selection *s, size_t i, const char *what, const char *text,
                       struct err *err);
/* Returns −ENOENT "no-match" if there is an -F or -L, and no function that can be traced matches.
 */
int selection_check(const struct selection *s, struct err *err);
/* The program imports COUNT NAMES: messages name those that are similar to the pattern, and say
 * that library calls are meant. ALL: the program may call other ones, too, and nothing is checked.
 * Else like selection_check(), before the libraries are known. */
int selection_check_calls(struct selection *s, const char *const *names, size_t count, bool all,
                          struct err *err);

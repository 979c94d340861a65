/* Which functions of a module -F and -N select. */
#ifndef SPOOR_SELECT_SELECT_H
#define SPOOR_SELECT_SELECT_H

#include "base/filter.h"
#include "base/mem.h"
#include "elf/module.h"
#include "plan/plan.h"

enum { SELECTION_NEAR = 3 };

struct refused_call { /* a library call that cannot be traced */
    char *name;
    enum refusal why;
};

struct selection {
    const struct filter *filter; /* borrowed */
    size_t matched;              /* functions that the filters have selected so far */
    size_t traceable;            /* of those, with a tier */
    char *near[SELECTION_NEAR];  /* names like the first -F's, nearest first; NULL: none */
    unsigned distance[SELECTION_NEAR];
    ARRAY(struct refused_call) refused; /* each name once */
};

void selection_init(struct selection *s, const struct filter *filter);
void selection_done(struct selection *s);
/* Whether the filters can select any function of MODULE, as far as its symbols tell. If not, there
 * is no need to plan it. */
bool selection_may_select(struct selection *s, const struct module *module);
/* A bitmap by function index (to be freed); *ret_count: selected functions that have a tier. */
uint8_t *selection_apply(struct selection *s, const struct module *module, const struct plan *plan,
                         size_t *ret_count);
/* A bitmap (to be freed) of the functions that a filter names in full, and that are not excluded.
 */
uint8_t *selection_named(const struct filter *filter, const struct module *module,
                         const struct plan *plan);
/* Whether library calls of F of MODULE by NAME are wanted: of -F, patterns without a module choose
 * among those names; -N knows all names of F. */
bool selection_takes_call(struct selection *s, const char *module, const struct plan_function *f,
                          const char *name);
void selection_note_refused(struct selection *s, const char *name, enum refusal why);
/* One line about those, or NULL; to be freed. */
char *selection_refused(const struct selection *s);
/* ": did you mean A, B?", or nothing, into ROOM bytes at RET. */
void selection_near(const struct selection *s, char *ret, size_t room);
/* 0, or −ENOENT "no-match" when -F was given and has matched no function that can be traced, of any
 * module so far. */
int selection_check(const struct selection *s, struct err *err);
/* The same, before libraries are known, for library calls by COUNT NAMES. */
int selection_check_calls(struct selection *s, const char *const *names, size_t count,
                          struct err *err);

#endif

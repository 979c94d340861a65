/* Names that may have been meant. */
#include "values/meant.h"

#include "base/mem.h"
#include "values/spec.h"

void meant_begin(struct meant *m, const char *typed) {
    *m = (struct meant){0};
    near_init(&m->near, typed);
}

void meant_consider(struct meant *m, const char *name) {
    enum { SOME = 8 };
    AUTO_FREE char *before = NULL;
    near_consider(&m->near, name);
    if (!*name || m->count > SOME)
        return;
    before = m->some;
    m->some = m->count++ == SOME ? mem_printf("%s, …", before)
              : before           ? mem_printf("%s, %s", before, name)
                                 : mem_strdup(name);
}

int meant_fail(struct meant *m, struct err *err, const char *text, size_t at, const char *what) {
    AUTO_FREE char *names = near_list(&m->near), *some = m->some;
    near_done(&m->near);
    return spec_error(err, text, at, "%s%s%s", what,
                      names  ? "; near: "
                      : some ? "; it has: "
                             : "",
                      names  ? names
                      : some ? some
                             : "");
}

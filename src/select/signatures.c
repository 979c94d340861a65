/* Reads debugging information of modules when it is first needed. */
#include "select/signatures.h"

#include <stdlib.h>
#include <string.h>

#include "select/proven.h"
#include "types/debug_types.h"
#include "types/prototypes.h"
#include "values/compile.h"

struct signatures {
    struct debug_types *debug; /* NULL: there is no debugging information */
    struct result_uses *uses;
};

void signatures_free(struct signatures *s) {
    if (!s)
        return;
    debug_types_close(s->debug);
    result_uses_free(s->uses);
    free(s);
}

void signature_sources_done(struct signature_sources *s) {
    prototypes_close(s->prototypes);
    *s = (struct signature_sources){0};
}

static struct debug_types *debug_of(const struct signature_sources *s, struct traced_module *m) {
    if (!m->signatures) {
        m->signatures = mem_alloc(sizeof *m->signatures);
        debug_types_open(m->module, s->graph, &m->signatures->debug, NULL);
        m->signatures->uses = result_uses_new(m->plan, m->module);
    }
    return m->signatures->debug;
}

/* ---- C libraries ---- */

/* Other modules may have functions of these names that take something else. */
static bool is_c_library(const struct module *m) {
    static const char *const names[] = {"libc.so.",  "libm.so.",    "libpthread.so.", "libdl.so.",
                                        "librt.so.", "libutil.so.", "libc-2.",        "libm-2.",
                                        "libc.musl", "ld-musl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(m->name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool exports(const struct module *m, const char *name) {
    for (size_t i = 0; i < m->symbol_count; i++)
        if (m->symbols[i].global && strcmp(m->symbols[i].name, name) == 0)
            return true;
    return false;
}

static struct prototypes *prototypes_of(struct signature_sources *s) {
    if (!s->tried) {
        AUTO_FREE char *path = prototypes_path();
        prototypes_open(path, s->graph, &s->prototypes, NULL);
        s->tried = true;
    }
    return s->prototypes;
}

static bool find_by_name(struct signature_sources *s, const struct traced_module *m,
                         const char *name, struct signature *ret) {
    return name && exports(m->module, name) && prototypes_find(prototypes_of(s), name, ret);
}

/* By one of the names of function I, or by one that the program uses in its calls. (An
 * implementation of memcpy has a name of its own.) */
static bool find_prototype(struct signature_sources *s, const struct traced_module *m, uint32_t i,
                           struct signature *ret) {
    const struct plan_function *f = plan_function(m->plan, i);
    bool found = find_by_name(s, m, f->name, ret);
    for (size_t k = 0; !found && f->aliases && f->aliases[k]; k++)
        found = find_by_name(s, m, f->aliases[k], ret);
    for (size_t k = 0; !found && k < m->called.count; k++)
        if (m->called.at[k].function == i)
            found = find_by_name(s, m, m->called.at[k].name, ret);
    return found;
}

/* Go's results are parameters. */
static bool is_void(void *ctx, uint32_t caller) {
    const struct traced_module *m = ctx;
    struct signature s;
    if (!debug_types_signature(m->signatures->debug, plan_function(m->plan, caller)->addr, &s))
        return false;
    const bool known =
        s.language == SOURCE_C || s.language == SOURCE_CXX || s.language == SOURCE_RUST;
    const bool none = known && !s.result;
    signature_done(&s);
    return none;
}

bool signature_of(struct signature_sources *s, struct traced_module *m, uint32_t i, unsigned word,
                  struct signature *ret) {
    struct debug_types *debug = debug_of(s, m);
    const vaddr_t start = plan_function(m->plan, i)->addr;
    enum abi abi;
    if (debug && debug_types_signature(debug, start, ret)) {
        const struct result_question q = {i, is_void, m};
        if (values_abi(m->module, &abi)) {
            proven_places(m->module, start, s->graph, abi, ret);
            proven_result(m->signatures->uses, &q, s->graph, abi, ret);
        }
        return true;
    }
    return word == sizeof(void *) && is_c_library(m->module) && prototypes_of(s) &&
           find_prototype(s, m, i, ret);
}

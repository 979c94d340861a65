/* See sites.h. A plan takes up to a second to make: the last module's is kept. */
#include "page/sites.h"

#include <pthread.h>
#include <string.h>

#include "cache/plan_cache.h"
#include "cmd/explain.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct trace_module *planned; /* NULL: none; what follows is its */
static struct module *module;
static struct plan *plan;
static struct subject subject; /* plan NULL: there is no plan */

static bool is_same_build(const struct trace_module *m) {
    return m->build_id_size ? m->build_id_size == module->build_id_size &&
                                  memcmp(m->build_id, module->build_id, m->build_id_size) == 0
                            : !module->build_id_size;
}

static void forget(void) {
    if (subject.plan)
        plan_view_done(&subject.view);
    ARRAY_FREE(&subject.shown);
    plan_free(plan);
    module_free(module);
    subject = (struct subject){0};
    plan = NULL;
    module = NULL;
}

/* As spoor explain does, without a filter. */
static void make_plan(const struct trace_module *m) {
    struct options options;
    options_init(&options);
    struct plan_cache cache = plan_cache_open(options.record.cache_bytes);
    forget();
    planned = m;
    if (module_load(m->path, MODULE_DEBUG_FILES | MODULE_LATER, &module, NULL) < 0) {
        module = NULL;
    } else if (is_same_build(m) && plan_cache_plan(&cache, module, TIER_NONE, &plan, NULL) == 0) {
        subject = (struct subject){.module = module, .plan = plan};
        plan_view_init(&subject.view, plan);
    }
    plan_cache_close(&cache);
    options_done(&options);
}

bool sites_write(FILE *out, const struct trace_module *m, uint64_t address) {
    pthread_mutex_lock(&lock);
    if (planned != m)
        make_plan(m);
    subject.shown.count = 0;
    for (size_t i = 0; subject.plan && i < plan_function_count(plan); i++)
        if (plan_function(plan, i)->addr == address && !subject.shown.count)
            ARRAY_PUSH(&subject.shown, (uint32_t)i);
    bool found = subject.shown.count;
    if (found)
        explain_json(out, &subject, "");
    pthread_mutex_unlock(&lock);
    return found;
}

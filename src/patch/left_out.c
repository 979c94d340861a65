/* Warns of functions that are left out, and counts them. */
#include "patch/left_out.h"

#include "base/report.h"

static void warn(const struct report *report, const struct patched *p) {
    enum { MOST_NAMES = 3 };
    struct traced_module *m = p->traced_module;
    size_t count = 0;
    AUTO_FREE char *names = mem_strdup("");
    for (size_t i = 0; p->changed && i < plan_function_count(m->plan); i++) {
        if (!bitmap_test(p->changed, i) || !bitmap_test(m->choice.selected, i))
            continue;
        AUTO_FREE char *name = plan_function_shown(plan_function(m->plan, i), m->module->name);
        AUTO_FREE char *before = names;
        names = count == MOST_NAMES  ? mem_printf("%s, …", before)
                : count > MOST_NAMES ? mem_strdup(before)
                                     : mem_printf("%s%s%s", before, count ? ", " : "", name);
        count++;
    }
    if (!count || m->change_reported)
        return;
    AUTO_FREE char *text = mem_printf(
        "%s: its code in memory differs from its file in %zu function%s, untraced while "
        "%s: %s",
        m->module->path, count, count == 1 ? "" : "s", count == 1 ? "it does" : "they do", names);
    report_warn(report, text);
    m->change_reported = true;
}

static void add_left_out(const struct patched *p, uint8_t *all, uint8_t *changed) {
    for (size_t i = 0; p->untraced && i < patched_function_bytes(p); i++) {
        all[i] |= p->untraced[i];
        changed[i] |= p->changed[i];
    }
}

void left_out_write(const struct space_context *ctx, const struct space *s,
                    const struct patched *p) {
    AUTO_FREE uint8_t *all = mem_alloc(patched_function_bytes(p));
    AUTO_FREE uint8_t *changed = mem_alloc(patched_function_bytes(p));
    warn(&ctx->options->report, p);
    add_left_out(p, all, changed);
    for (size_t i = 0; i < s->modules.count; i++) /* its annex */
        if (patched_is_same(&s->modules.at[i], p) && s->modules.at[i].first)
            add_left_out(&s->modules.at[i], all, changed);
    module_table_write(ctx->module_table, p->traced_module, &p->code->emitted,
                       &(struct left_out){all, changed});
}

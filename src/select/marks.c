/* Chooses probes by their names, and compiles captures of their arguments. */
#include "select/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "trace/captures.h"
#include "trace/writer.h"
#include "values/compile.h"
#include "values/operands.h"

static void read_probes(struct traced_module *m, const struct report *report) {
    struct err err;
    if (m->probes_known)
        return;
    m->probes_known = true;
    if (probes_read(m->module, &m->probes, &err) < 0)
        report_warn(report, err.text);
}

size_t marks_count(struct traced_module *m, const struct report *report) {
    read_probes(m, report);
    return m->probes.count;
}

void marks_free(struct traced_module *m) {
    probes_done(&m->probes);
    ARRAY_FREE(&m->choice.marks);
}

/* The last option that chooses the probe NAME of M, unless -N excludes it; NULL: none. */
static const struct probe_option *option_for(const struct filter *f, const struct traced_module *m,
                                             const char *name) {
    for (size_t i = 0; i < f->excluded.count; i++)
        if (pattern_match(f->excluded.at[i], m->module->name, name))
            return NULL;
    for (size_t i = f->probes.count; i-- > 0;)
        if (pattern_match(f->probes.at[i].pattern, m->module->name, name))
            return &f->probes.at[i];
    return NULL;
}

bool marks_wanted(const struct arguments_context *c, struct traced_module *m) {
    if (!c->filter->probes.count || !probes_exist(m->module))
        return false;
    read_probes(m, &c->options->report);
    for (size_t i = 0; i < m->probes.count; i++)
        if (option_for(c->filter, m, m->probes.at[i].name))
            return true;
    return false;
}

/* Several local symbols may have one name: these tell no address. */
static bool symbol_at(void *ctx, const char *name, uint64_t *ret) {
    const struct module *m = ctx;
    const struct symbol *found = module_symbol_named(m, name);
    if (!found)
        return false;
    for (size_t i = 0; i < m->symbol_count; i++)
        if (m->symbols[i].addr != found->addr && strcmp(m->symbols[i].name, name) == 0)
            return false;
    *ret = found->addr;
    return true;
}

/* Sets the capture of P, with the id of MARK. */
static void capture_arguments(const struct arguments_context *c, struct traced_module *m,
                              const struct probe *p, const char *spec, struct plan_probe *mark) {
    const struct arch *arch = plan_arch_at(m->plan, p->addr);
    struct capture capture;
    struct err err;
    struct probe_request request = {.types = argument_types_graph(c->types),
                                    .arguments = p->arguments,
                                    .spec = spec,
                                    .strings = c->options->strings,
                                    .symbol_at = symbol_at,
                                    .ctx = (void *)m->module};
    if (!arch || !arch->stub_capture_bytes || !values_abi(m->module, &request.abi))
        return;
    if (operands_compile(&request, &capture, &err) < 0) {
        AUTO_FREE char *text = mem_printf("%s: %s", p->name, err.text);
        report_warn(&c->options->report, text);
        return;
    }
    const uint32_t bytes = capture.count ? arch->stub_capture_bytes(&capture) : 0;
    if (bytes) {
        mark->capture.number = captures_add(c->captures, mark->id, &capture, NULL);
        mark->capture.bytes = bytes;
        mark->capture.capture = &captures_get(c->captures, mark->capture.number)->capture;
    }
    capture_done(&capture);
}

static void report_refused(const struct arguments_context *c, const struct traced_module *m,
                           const struct probe *p) {
    AUTO_FREE char *text =
        mem_printf("%s: probe %s at %#jx is left out: there is no room for a patch around it",
                   m->module->name, p->name, (uintmax_t)p->addr);
    report_warn(&c->options->report, text);
}

/* ---- breakpoints ---- */

/* A killed spoor's breakpoint kills the program, so only a full name asks for one. */
static bool may_have_trap(const struct arguments_context *c, const struct traced_module *m,
                          const char *name) {
    for (size_t i = 0; i < c->filter->probes.count; i++)
        if (pattern_names(c->filter->probes.at[i].pattern, m->module->name, name))
            return true;
    return c->options->tier == TIER_TRAP;
}

static bool lacks_trap(const struct arguments_context *c, const struct traced_module *m,
                       const struct probe *p) {
    return plan_probe_tier(m->plan, p->addr) == TIER_TRAP && !may_have_trap(c, m, p->name);
}

/* Several places may have one name: told for the first one. */
static void report_trap(const struct arguments_context *c, const struct traced_module *m,
                        const struct probe *p) {
    for (const struct probe *k = m->probes.at; k < p; k++)
        if (strcmp(k->name, p->name) == 0 && lacks_trap(c, m, k))
            return;
    AUTO_FREE char *text =
        mem_printf("%s: probe %s is left out, as only a breakpoint fits there, which stops the "
                   "program at each hit: --usdt %s, its full name, sets it",
                   m->module->name, p->name, p->name);
    report_warn(&c->options->report, text);
}

/* ---- the choice ---- */

/* Whether P can be recorded; if not, says why. */
static bool can_record(const struct arguments_context *c, const struct traced_module *m,
                       const struct probe *p) {
    const bool none = plan_probe_tier(m->plan, p->addr) == TIER_NONE, trap = lacks_trap(c, m, p);
    if (none)
        report_refused(c, m, p);
    if (trap)
        report_trap(c, m, p);
    return !none && !trap;
}

void marks_choose(const struct arguments_context *c, struct traced_module *m) {
    m->choice.marks.count = 0;
    for (size_t i = 0; i < m->probes.count && c->filter->probes.count; i++) {
        const struct probe *p = &m->probes.at[i];
        const struct probe_option *o = option_for(c->filter, m, p->name);
        struct plan_probe mark = {.at = p->addr, .id = m->first_mark_id + (uint32_t)i};
        if (!o || !can_record(c, m, p))
            continue;
        capture_arguments(c, m, p, o->spec, &mark);
        ARRAY_PUSH(&m->choice.marks, mark);
    }
}

/* ---- the trace ---- */

static bool is_chosen(const struct traced_module *m, vaddr_t at) {
    for (size_t i = 0; i < m->choice.marks.count; i++)
        if (m->choice.marks.at[i].at == at)
            return true;
    return false;
}

void marks_write(struct trace_writer *writer, struct traced_module *m) {
    const size_t n = m->probes.count;
    const struct module *from = m->module;
    if (!n || !m->choice.marks.count)
        return;
    AUTO_FREE struct trace_function *functions = mem_alloc(n * sizeof *functions);
    struct trace_module described = {.first_id = m->first_mark_id,
                                     .path = from->path,
                                     .name = from->name,
                                     .build_id_size = from->build_id_size,
                                     .functions = functions,
                                     .function_count = (uint32_t)n};
    memcpy(described.build_id, from->build_id, sizeof described.build_id);
    for (size_t i = 0; i < n; i++) {
        const struct probe *p = &m->probes.at[i];
        functions[i] = (struct trace_function){.address = p->addr,
                                               .name = p->name,
                                               .mark = true,
                                               .instrumented = is_chosen(m, p->addr)};
    }
    trace_writer_module(writer, &described);
}

/* ---- what matches nothing ---- */

static bool matches(const struct pattern *pattern, struct traced_module *const *modules,
                    size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < modules[i]->probes.count; k++)
            if (pattern_match(pattern, modules[i]->module->name, modules[i]->probes.at[k].name))
                return true;
    return false;
}

void marks_report_unmatched(const struct filter *filter, struct traced_module *const *modules,
                            size_t count, const struct report *report) {
    for (size_t i = 0; i < filter->probes.count; i++) {
        if (matches(filter->probes.at[i].pattern, modules, count))
            continue;
        AUTO_FREE char *text = mem_printf("--usdt '%s': matches no probe of the program or its "
                                          "libraries (see 'readelf -n FILE')",
                                          filter->probes.at[i].text);
        report_warn(report, text);
    }
}

int marks_check(const struct filter *filter, struct traced_module *const *modules, size_t count,
                struct err *err) {
    for (size_t i = 0; i < count; i++)
        if (modules[i]->choice.marks.count)
            return 0;
    if (!filter->probes.count)
        return 0;
    return err_set(err, ENOENT, "no-match",
                   "--usdt '%s': matches no probe that can be recorded (see 'readelf -n FILE')",
                   filter->probes.at[0].text);
}

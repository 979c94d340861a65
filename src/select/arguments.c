/* Compiles what is asked for into captures, function by function. */
#include "select/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/bitmap.h"
#include "select/select.h"
#include "trace/captures.h"
#include "types/debug_types.h"
#include "values/compile.h"
#include "values/slots.h"

struct argument_types {
    struct types *graph;
    size_t too_long; /* captures without room */
    bool reported_long;
    ARRAY(const char *) reported; /* SPECs whose error is known; the filter's, borrowed */
};

struct signatures {
    struct debug_types *debug; /* NULL: there is no debugging information */
};

/* A -A or -R, and the functions of the present module that it names. */
struct asked {
    const struct capture_option *option;
    uint8_t *matches;
};

struct choosing {
    const struct arguments_context *context;
    struct traced_module *module;
    struct asked *asked;
    size_t count;
    enum abi abi;
};

struct argument_types *argument_types_new(void) {
    struct argument_types *t = mem_alloc(sizeof *t);
    t->graph = types_new();
    return t;
}

struct types *argument_types_graph(struct argument_types *t) {
    return t->graph;
}

void argument_types_free(struct argument_types *t) {
    if (!t)
        return;
    types_free(t->graph);
    ARRAY_FREE(&t->reported);
    free(t);
}

void signatures_free(struct signatures *s) {
    if (!s)
        return;
    debug_types_close(s->debug);
    free(s);
}

static struct debug_types *debug_of(const struct choosing *c) {
    struct traced_module *m = c->module;
    const struct debug_options options = {.report = &c->context->options->report};
    if (!m->signatures) {
        m->signatures = mem_alloc(sizeof *m->signatures);
        debug_types_open(m->module, c->context->types->graph, &options, &m->signatures->debug,
                         NULL);
    }
    return m->signatures->debug;
}

/* ---- what is asked for ---- */

static uint8_t *matches_of(const struct choosing *c, const struct pattern *pattern) {
    struct filter filter = {0};
    struct selection selection;
    size_t ignored;
    filter_add(&filter, 'F', pattern_text(pattern), NULL);
    selection_init(&selection, &filter);
    uint8_t *matches = selection_apply(&selection, c->module->module, c->module->plan, &ignored);
    selection_done(&selection);
    filter_done(&filter);
    return matches;
}

static void begin(struct choosing *c) {
    const struct filter *f = c->context->filter;
    c->asked = mem_alloc((f->captures.count + 1) * sizeof *c->asked);
    for (; c->count < f->captures.count; c->count++) {
        const struct capture_option *o = &f->captures.at[c->count];
        c->asked[c->count] = (struct asked){o, matches_of(c, o->pattern)};
    }
}

static void end(struct choosing *c) {
    for (size_t i = 0; i < c->count; i++)
        free(c->asked[i].matches);
    free(c->asked);
}

/* What is asked for of a function at events of a kind. */
struct wishes {
    bool by_types;
    char *spec; /* of all its SPECs; NULL: none */
};

static void add_spec(struct wishes *w, const char *spec) {
    AUTO_FREE char *before = w->spec;
    w->spec = mem_printf("%s%s%s", before ? before : "", before ? "," : "", spec);
}

/* Whether values of FUNCTION are asked for at events of KIND. RET->spec is to be freed. */
static bool is_asked(const struct choosing *c, uint32_t function, enum event_kind kind,
                     struct wishes *ret) {
    bool asked = c->context->options->auto_args;
    *ret = (struct wishes){.by_types = asked};
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_option *o = c->asked[i].option;
        const bool of_kind = (o->letter == 'A') == (kind == EVENT_ENTRY) || o->spec;
        if (!of_kind || !bitmap_test(c->asked[i].matches, function))
            continue;
        asked = true;
        ret->by_types |= !o->spec;
        if (o->spec)
            add_spec(ret, o->spec);
    }
    return asked;
}

/* ---- captures ---- */

static void report_spec(const struct choosing *c, uint32_t function, const struct err *err) {
    struct argument_types *t = c->context->types;
    const char *key = c->context->filter->captures.at[0].text;
    for (size_t i = 0; i < t->reported.count; i++)
        if (t->reported.at[i] == key)
            return;
    ARRAY_PUSH(&t->reported, key);
    AUTO_FREE char *name =
        plan_function_shown(plan_function(c->module->plan, function), c->module->module->name);
    AUTO_FREE char *text = mem_printf("%s: %s", name, err->text);
    report_warn(&c->context->options->report, text);
}

static void report_long(const struct choosing *c, uint32_t function) {
    struct argument_types *t = c->context->types;
    if (t->too_long++)
        return;
    AUTO_FREE char *name =
        plan_function_shown(plan_function(c->module->plan, function), c->module->module->name);
    AUTO_FREE char *text =
        mem_printf("%s: its values have no room in the ring or in a stub: ask for fewer, or for "
                   "--strings of fewer bytes",
                   name);
    report_warn(&c->context->options->report, text);
}

/* A capture may take a quarter of a ring at most: else threads would wait for each other. */
static bool fits(const struct choosing *c, const struct capture *capture) {
    enum { DEFAULT_RING = 512 << 10, PART = 4 }; /* the least default */
    const uint64_t asked = c->context->options->ring_bytes;
    const uint64_t ring = asked ? asked : DEFAULT_RING;
    uint64_t words = 0;
    for (size_t i = 0; i < capture->count; i++)
        words += capture_value_words(&capture->values[i]);
    return (uint64_t)capture_slots(capture) * EVENT_BYTES <= ring / PART &&
           words <= CAPTURE_MOST_WORDS;
}

static void add(const struct choosing *c, uint32_t function, const struct capture *capture) {
    struct traced_module *m = c->module;
    const struct arch *arch = plan_arch_at(m->plan, plan_function(m->plan, function)->addr);
    if (!capture->count || !arch || !arch->stub_capture_bytes)
        return;
    struct plan_capture p = {.function = function, .kind = capture->kind};
    p.bytes = fits(c, capture) ? arch->stub_capture_bytes(capture) : 0;
    if (!p.bytes) {
        report_long(c, function);
        return;
    }
    p.number = captures_add(c->context->captures, m->first_id + function, capture);
    p.capture = &captures_get(c->context->captures, p.number)->capture;
    ARRAY_PUSH(&m->choice.captures, p);
}

static void choose_kind(const struct choosing *c, uint32_t function, enum event_kind kind,
                        const struct signature *signature) {
    struct wishes wishes;
    struct capture capture = {0};
    struct err err;
    if (!is_asked(c, function, kind, &wishes))
        return;
    AUTO_FREE char *spec = wishes.spec;
    struct values_request request = {.types = c->context->types->graph,
                                     .signature = signature,
                                     .abi = c->abi,
                                     .kind = kind,
                                     .spec = spec,
                                     .by_types = wishes.by_types,
                                     .strings = c->context->options->strings};
    if (!spec && !signature)
        return;
    int rc = values_compile(&request, &capture, &err);
    if (rc < 0) {
        report_spec(c, function, &err);
        request.spec = NULL;
    }
    if (rc < 0 && (!signature || !wishes.by_types || values_compile(&request, &capture, &err) < 0))
        return;
    add(c, function, &capture);
    capture_done(&capture);
}

static void choose_function(const struct choosing *c, uint32_t function) {
    struct signature signature = {0};
    bool asked = c->context->options->auto_args;
    for (size_t i = 0; i < c->count && !asked; i++)
        asked = bitmap_test(c->asked[i].matches, function);
    if (!asked)
        return;
    struct debug_types *debug = debug_of(c);
    const vaddr_t at = plan_function(c->module->plan, function)->addr;
    const bool known = debug && debug_types_signature(debug, at, &signature);
    choose_kind(c, function, EVENT_ENTRY, known ? &signature : NULL);
    choose_kind(c, function, EVENT_RETURN, known ? &signature : NULL);
    if (known)
        signature_done(&signature);
}

void arguments_choose(const struct arguments_context *context, struct traced_module *m) {
    struct choosing c = {.context = context, .module = m};
    const size_t count = plan_function_count(m->plan);
    m->choice.captures.count = 0;
    if ((!context->options->auto_args && !context->filter->captures.count) ||
        !values_abi(m->module->machine, true, &c.abi))
        return;
    begin(&c);
    for (uint32_t i = 0; i < count; i++)
        if (bitmap_test(m->choice.selected, i) && plan_function(m->plan, i)->entry != TIER_NONE)
            choose_function(&c, i);
    end(&c);
}

/* Compiles what is asked for into captures, function by function. */
#include "select/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/bitmap.h"
#include "select/select.h"
#include "select/signatures.h"
#include "select/spec_uses.h"
#include "target/timing.h"
#include "trace/captures.h"
#include "values/compile.h"
#include "values/formats.h"
#include "values/slots.h"

struct kept_condition {
    char *text;
    struct condition *condition; /* NULL: it cannot be read */
};

struct argument_types {
    struct types *graph;
    struct signature_sources sources;
    size_t too_long; /* captures without room */
    bool reported_together;
    struct spec_uses *uses;
    ARRAY(struct kept_condition) conditions;
};

/* A -A, -R, --where or --trigger, and the functions of the present module that it names. */
struct asked {
    const struct capture_option *option;
    const struct trigger *trigger; /* NULL: it is of no trigger */
    uint8_t *matches;
    bool fits; /* the present function, which it names */
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
    t->sources.graph = t->graph;
    t->uses = spec_uses_new();
    return t;
}

struct spec_uses *argument_types_uses(struct argument_types *t) {
    return t->uses;
}

struct types *argument_types_graph(struct argument_types *t) {
    return t->graph;
}

void argument_types_free(struct argument_types *t) {
    if (!t)
        return;
    signature_sources_done(&t->sources);
    types_free(t->graph);
    spec_uses_free(t->uses);
    for (size_t i = 0; i < t->conditions.count; i++) {
        free(t->conditions.at[i].text);
        condition_free(t->conditions.at[i].condition);
    }
    ARRAY_FREE(&t->conditions);
    free(t);
}

/* ---- what is asked for ---- */

/* Library calls have the names by which the program calls them. */
static void add_called(const struct traced_module *m, const struct pattern *pattern,
                       uint8_t *matches) {
    for (size_t k = 0; k < m->called.count; k++)
        if (pattern_match(pattern, m->module->name, m->called.at[k].name))
            bitmap_set(matches, m->called.at[k].function);
}

static uint8_t *matches_of(const struct choosing *c, const struct pattern *pattern) {
    struct filter filter = {0};
    struct selection selection;
    size_t ignored;
    filter_add(&filter, 'F', pattern_text(pattern), NULL);
    selection_init(&selection, &filter);
    uint8_t *matches = selection_apply(&selection, c->module->module, c->module->plan, &ignored);
    selection_done(&selection);
    filter_done(&filter);
    add_called(c->module, pattern, matches);
    return matches;
}

static void ask(struct choosing *c, const struct capture_option *o, const struct trigger *trigger) {
    c->asked[c->count++] = (struct asked){o, trigger, matches_of(c, o->pattern), false};
}

static bool asks_nothing(const struct arguments_context *context) {
    const trigger_list *triggers = &context->options->triggers;
    bool asks = context->options->auto_args || context->filter->captures.count;
    for (size_t i = 0; i < triggers->count; i++)
        asks |= triggers->at[i].filter.captures.count > 0;
    return !asks;
}

static void begin(struct choosing *c) {
    const struct filter *f = c->context->filter;
    const trigger_list *triggers = &c->context->options->triggers;
    c->asked = mem_alloc((f->captures.count + triggers->count + 1) * sizeof *c->asked);
    for (size_t i = 0; i < f->captures.count; i++)
        ask(c, &f->captures.at[i], NULL);
    for (size_t i = 0; i < triggers->count; i++)
        if (triggers->at[i].filter.captures.count)
            ask(c, &triggers->at[i].filter.captures.at[0], &triggers->at[i]);
}

static void end(struct choosing *c) {
    for (size_t i = 0; i < c->count; i++)
        free(c->asked[i].matches);
    free(c->asked);
}

/* What is asked for of a function. */
struct wishes {
    bool by_types;
    char *spec;      /* of all its SPECs; NULL: none */
    char *condition; /* all of its --where; NULL: none */
};

static void add_condition(struct wishes *w, const char *condition) {
    AUTO_FREE char *before = w->condition;
    w->condition = before ? mem_printf("(%s) && (%s)", before, condition) : mem_strdup(condition);
}

static void add_spec(struct wishes *w, const char *spec) {
    AUTO_FREE char *before = w->spec;
    w->spec = mem_printf("%s%s%s", before ? before : "", before ? "," : "", spec);
}

/* Whether values of FUNCTION are asked for at events of KIND. RET's texts are to be freed. */
static bool is_asked(const struct choosing *c, uint32_t function, enum event_kind kind,
                     struct wishes *ret) {
    bool asked = c->context->options->auto_args;
    *ret = (struct wishes){.by_types = asked};
    for (size_t i = 0; i < c->count; i++) {
        const struct capture_option *o = c->asked[i].option;
        const bool of_kind = (o->letter == 'A') == (kind == EVENT_ENTRY) || o->spec;
        if (!of_kind || !bitmap_test(c->asked[i].matches, function) || !c->asked[i].fits)
            continue;
        asked = true;
        if (o->letter == 'T')
            continue;
        if (o->letter == 'W') {
            add_condition(ret, o->spec);
            continue;
        }
        ret->by_types |= !o->spec;
        if (o->spec)
            add_spec(ret, o->spec);
    }
    return asked;
}

/* ---- captures ---- */

/* Each SPEC fits, but all of them together do not. Told for the first function only. */
static void report_together(const struct choosing *c, uint32_t function, const struct err *err) {
    struct argument_types *t = c->context->types;
    if (t->reported_together)
        return;
    t->reported_together = true;
    AUTO_FREE char *name =
        plan_function_shown(plan_function(c->module->plan, function), c->module->module->name);
    AUTO_FREE char *text = mem_printf("%s: its SPECs together: %s", name, err->text);
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

/* Whether stubs judge calls by PREDICATE. Triggers are looked for in all calls. The stacks of Go's
 * functions move while these are open. */
static bool judges(const struct choosing *c, const struct arch *arch,
                   const struct predicate *predicate) {
    return predicate->count && !c->context->options->triggers.count &&
           !module_is_go(c->module->module) && arch->stub_judge_bytes(JUDGED_ENTRY, predicate);
}

/* False: it has no place. */
static bool add(const struct choosing *c, uint32_t function, const struct capture *capture,
                const struct condition *condition) {
    struct traced_module *m = c->module;
    const struct arch *arch = plan_arch_at(m->plan, plan_function(m->plan, function)->addr);
    if (!capture->count || !arch || !arch->stub_capture_bytes)
        return false;
    struct plan_capture p = {.function = function, .kind = capture->kind};
    p.bytes = fits(c, capture) ? arch->stub_capture_bytes(capture) : 0;
    if (!p.bytes) {
        report_long(c, function);
        return false;
    }
    p.number = captures_add(c->context->captures, m->first_id + function, capture, condition);
    const struct numbered_capture *n = captures_get(c->context->captures, p.number);
    p.capture = &n->capture;
    p.predicate = judges(c, arch, &n->predicate) ? &n->predicate : NULL;
    ARRAY_PUSH(&m->choice.captures, p);
    return true;
}

/* ---- conditions ---- */

static const struct condition *condition_of(const struct choosing *c, const char *text) {
    struct argument_types *t = c->context->types;
    struct err ignored; /* the text was checked before */
    for (size_t i = 0; i < t->conditions.count; i++)
        if (strcmp(t->conditions.at[i].text, text) == 0)
            return t->conditions.at[i].condition;
    struct kept_condition k = {.text = mem_strdup(text)};
    if (condition_parse(text, &k.condition, &ignored) < 0)
        k.condition = NULL;
    ARRAY_PUSH(&t->conditions, k);
    return k.condition;
}

/* Adds the operands of CONDITION to what is captured. A name that is no parameter may be an
 * enumerator. */
static int add_operands(const struct values_request *request, const struct condition *condition,
                        struct wishes *w, struct err *err) {
    struct condition_operand o;
    for (size_t i = 0; condition_operand(condition, i, &o); i++) {
        struct values_request one = *request;
        struct capture unused = {0};
        one.spec = o.text;
        one.by_types = false;
        int rc = values_compile(&one, &unused, err);
        capture_done(&unused);
        if (rc == 0)
            add_spec(w, o.text);
        else if (o.node->op != SPEC_NAME)
            return rc;
    }
    return 0;
}

/* The first operand of CONDITION that is neither in the captures nor an enumerator. False: none. */
static bool find_unknown(const struct choosing *c, const struct condition *condition,
                         const struct capture *captures, size_t count, size_t *ret) {
    const size_t operands = condition_operand_count(condition);
    AUTO_FREE struct operand_reader *readers = mem_alloc((operands + 1) * sizeof *readers);
    AUTO_FREE bool *known = mem_alloc(operands + 1);
    for (size_t k = 0; k < count; k++) {
        condition_bind(condition, c->context->types->graph, &captures[k], readers);
        for (size_t i = 0; i < operands; i++)
            known[i] |= readers[i].place != READER_UNKNOWN;
    }
    for (*ret = 0; *ret < operands; ++*ret)
        if (!known[*ret])
            return true;
    return false;
}

/* ---- functions ---- */

struct subject {
    uint32_t function;
    const struct signature *signature; /* NULL: not known */
    const struct condition *condition; /* NULL: none */
};

static struct values_request request_of(const struct choosing *c, const struct subject *s,
                                        enum event_kind kind) {
    return (struct values_request){.types = c->context->types->graph,
                                   .signature = s->signature,
                                   .abi = c->abi,
                                   .kind = kind,
                                   .strings = c->context->options->strings,
                                   .formats = c->context->options->formats};
}

/* Whether SPEC fits. Its results are known at returns only, all else at entries only. */
static int try_spec(const struct choosing *c, const struct subject *s, const char *spec,
                    struct err *err) {
    int rc = 0;
    for (int kind = EVENT_ENTRY; kind <= EVENT_RETURN && rc == 0; kind++) {
        struct values_request request = request_of(c, s, (enum event_kind)kind);
        struct capture unused = {0};
        request.spec = spec;
        rc = values_compile(&request, &unused, err);
        capture_done(&unused);
    }
    return rc;
}

/* The captures of the operands of CONDITION alone: of entries, then of returns. */
static int compile_operands(const struct choosing *c, const struct subject *s,
                            const struct condition *condition, struct capture *ret,
                            struct err *err) {
    int rc = 0;
    for (int kind = EVENT_ENTRY; kind <= EVENT_RETURN && rc == 0; kind++) {
        struct values_request request = request_of(c, s, (enum event_kind)kind);
        struct wishes wishes = {0};
        rc = add_operands(&request, condition, &wishes, err);
        AUTO_FREE char *spec = wishes.spec;
        request.spec = spec;
        ret[kind] = (struct capture){.kind = (enum event_kind)kind};
        if (rc == 0 && spec)
            rc = values_compile(&request, &ret[kind], err);
    }
    return rc;
}

/* Whether operand I of CONDITION looks like an enumerator: *ERR then says so. */
static bool is_misnamed(const struct choosing *c, const struct condition *condition, size_t i,
                        const struct capture *captures, struct err *err) {
    struct types *graph = c->context->types->graph;
    return condition_misnames(condition, i, graph, &captures[EVENT_ENTRY], err) ||
           condition_misnames(condition, i, graph, &captures[EVENT_RETURN], err);
}

/* The error for operand I of CONDITION, which is known nowhere. */
static int fail_unknown(const struct choosing *c, const struct subject *s,
                        const struct condition *condition, size_t i, struct err *err) {
    struct condition_operand o = {0};
    condition_operand(condition, i, &o);
    const int rc = try_spec(c, s, o.text, err);
    return rc ? rc : err_set(err, EINVAL, "spec", "%s: its value cannot be compared", o.text);
}

/* Whether the condition of O fits: each operand is a value or an enumerator. */
static int try_condition(const struct choosing *c, const struct subject *s,
                         const struct capture_option *o, struct err *err) {
    const char *text = o->spec;
    struct argument_types *types = c->context->types;
    const struct condition *condition = condition_of(c, text);
    struct capture captures[2] = {0};
    if (!condition)
        return err_set(err, EINVAL, "spec", "%s: this is no condition", text);
    int rc = compile_operands(c, s, condition, captures, err);
    size_t unknown;
    if (rc == 0 && find_unknown(c, condition, captures, 2, &unknown))
        rc = is_misnamed(c, condition, unknown, captures, err)
                 ? -EINVAL
                 : fail_unknown(c, s, condition, unknown, err);
    const char *never = rc ? NULL : condition_never_known(condition, types->graph, captures, 2);
    if (never)
        spec_uses_note_never(types->uses, c->module, s->function, o, never);
    for (size_t i = 0; i < 2; i++)
        capture_done(&captures[i]);
    return rc;
}

static int try_option(const struct choosing *c, const struct subject *s,
                      const struct capture_option *o, struct err *err) {
    if (filter_letter_has_condition(o->letter))
        return try_condition(c, s, o, err);
    if (o->spec)
        return try_spec(c, s, o->spec, err);
    return s->signature ? 0
                        : err_set(err, EINVAL, "spec",
                                  "its types are not known: compile with -g, install its debug "
                                  "package, or name values as arg1, arg2/s, retval");
}

static bool is_triggered(const struct asked *a, uint32_t function) {
    return a->trigger && a->fits && bitmap_test(a->matches, function);
}

static bool has_room(const struct choosing *c, uint32_t function, const struct capture *capture) {
    const struct plan *plan = c->module->plan;
    const struct arch *arch = plan_arch_at(plan, plan_function(plan, function)->addr);
    return !arch || !arch->stub_capture_bytes || !capture->count ||
           (capture->count < CAPTURE_MOST_VALUES && fits(c, capture) &&
            arch->stub_capture_bytes(capture));
}

/* Makes RET anew, with at most VALUES by formats. True: it has room, or cannot be made. */
static bool compile_again(const struct choosing *c, uint32_t function,
                          struct values_request *request, uint32_t values, struct capture *ret) {
    struct err ignored; /* there was none before */
    capture_done(ret);
    request->format_values = values;
    return values_compile(request, ret, &ignored) < 0 || has_room(c, function, ret);
}

/* Makes RET anew with as many values by formats as have room. False: not one has. */
static bool compile_some_values(const struct choosing *c, uint32_t function,
                                struct values_request *request, struct capture *ret) {
    uint32_t most = 1, beyond = CAPTURE_MOST_VALUES + 1;
    if (!compile_again(c, function, request, most, ret))
        return false;
    while (beyond - most > 1) {
        const uint32_t middle = most + (beyond - most) / 2;
        if (compile_again(c, function, request, middle, ret))
            most = middle;
        else
            beyond = middle;
    }
    return compile_again(c, function, request, most, ret);
}

/* A site has room for so much only. The last values by formats are left out first, then all of what
 * members hold by theirs, then the ends of objects. */
static int compile_within_room(const struct choosing *c, uint32_t function,
                               struct values_request *request, struct capture *ret,
                               struct err *err) {
    enum { LEAST_OBJECT = 8 };
    const int rc = values_compile(request, ret, err);
    if (rc < 0 || has_room(c, function, ret))
        return rc;
    for (uint32_t bytes = CAPTURE_MOST_BYTES; bytes >= LEAST_OBJECT; bytes /= 2) {
        request->object_bytes = bytes;
        request->plain_members = false;
        if (compile_some_values(c, function, request, ret))
            break;
        request->plain_members = true;
        if (compile_again(c, function, request, 0, ret))
            break;
    }
    return 0;
}

/* Makes the capture of events of KIND. False: there is none. */
static bool compile(const struct choosing *c, struct subject *s, enum event_kind kind,
                    struct capture *ret) {
    struct wishes wishes;
    struct err err;
    *ret = (struct capture){.kind = kind};
    if (!is_asked(c, s->function, kind, &wishes))
        return false;
    struct values_request request = request_of(c, s, kind);
    if (kind == EVENT_ENTRY)
        s->condition = wishes.condition ? condition_of(c, wishes.condition) : NULL;
    if (s->condition)
        add_operands(&request, s->condition, &wishes, &err);
    for (size_t i = 0; i < c->count; i++)
        if (is_triggered(&c->asked[i], s->function))
            add_operands(&request, condition_of(c, c->asked[i].option->spec), &wishes, &err);
    AUTO_FREE char *spec = wishes.spec, *condition = wishes.condition;
    request.spec = spec;
    request.by_types = wishes.by_types;
    const bool by_types = s->signature && wishes.by_types;
    int rc = spec || by_types ? compile_within_room(c, s->function, &request, ret, &err) : -ENOENT;
    if (rc < 0 && spec) {
        report_together(c, s->function, &err);
        request.spec = NULL;
        s->condition = NULL;
        rc = by_types ? compile_within_room(c, s->function, &request, ret, &err) : rc;
    }
    return rc == 0;
}

/* Each format is told once. */
static void report_misfits(const struct choosing *c) {
    struct formats *f = c->context->options->formats;
    for (size_t i = 0; f && i < f->misfits.count; i++) {
        report_warn(&c->context->options->report, f->misfits.at[i]);
        free(f->misfits.at[i]);
    }
    if (f)
        f->misfits.count = 0;
}

/* Tells capture P, which is new, what triggers ask of it. */
static void add_triggers(const struct choosing *c, const struct plan_capture *p) {
    struct captures *captures = c->context->captures;
    if (captures_get(captures, p->number)->id != c->module->first_id + p->function)
        return;
    for (size_t i = 0; i < c->count; i++) {
        const struct trigger *t = c->asked[i].trigger;
        if (!is_triggered(&c->asked[i], p->function))
            continue;
        const struct trigger_condition asked = {
            .condition = condition_of(c, c->asked[i].option->spec),
            .text = t->text,
            .at_exit = t->at_exit,
            .longer_ticks = t->longer_ns ? timing_ticks(t->longer_ns) : 0};
        captures_add_trigger(captures, p->number, &asked);
    }
}

static void choose_events(const struct choosing *c, struct subject *s) {
    struct capture captures[2];
    for (size_t i = 0; i < 2; i++)
        compile(c, s, i ? EVENT_RETURN : EVENT_ENTRY, &captures[i]);
    /* The drainer knows the calls that it has to judge by the values of their entries. */
    if (s->condition && !capture_records(&captures[0]))
        capture_add_hidden(&captures[0]);
    for (size_t i = 0; i < 2; i++) {
        if (add(c, s->function, &captures[i], s->condition))
            add_triggers(c, &c->module->choice.captures.at[c->module->choice.captures.count - 1]);
        capture_done(&captures[i]);
    }
}

/* Tries each option that names the function of S. */
static void try_options(const struct choosing *c, const struct subject *s) {
    for (size_t i = 0; i < c->count; i++) {
        struct asked *a = &c->asked[i];
        struct err err;
        if (!bitmap_test(a->matches, s->function))
            continue;
        a->fits = try_option(c, s, a->option, &err) == 0;
        spec_uses_note(c->context->types->uses, c->module, s->function, a->option,
                       a->fits ? NULL : &err);
    }
}

static void choose_function(const struct choosing *c, uint32_t function) {
    struct signature signature = {0};
    bool asked = c->context->options->auto_args;
    for (size_t i = 0; i < c->count && !asked; i++)
        asked = bitmap_test(c->asked[i].matches, function);
    if (!asked)
        return;
    struct signature_sources *sources = &c->context->types->sources;
    const bool known = signature_of(sources, c->module, function, abi_word(c->abi), &signature);
    struct subject s = {function, known ? &signature : NULL, NULL};
    try_options(c, &s);
    choose_events(c, &s);
    if (known)
        signature_done(&signature);
}

void arguments_choose(const struct arguments_context *context, struct traced_module *m) {
    struct choosing c = {.context = context, .module = m};
    const size_t count = plan_function_count(m->plan);
    m->choice.captures.count = 0;
    if (asks_nothing(context) || !values_abi(m->module, &c.abi))
        return;
    spec_uses_forget(context->types->uses, m);
    begin(&c);
    for (uint32_t i = 0; i < count; i++)
        if (bitmap_test(m->choice.selected, i) && plan_function(m->plan, i)->entry != TIER_NONE)
            choose_function(&c, i);
    report_misfits(&c);
    end(&c);
}

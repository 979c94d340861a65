/* See value_groups.h. A result is known at the end of its call only, but statistics ask for the
 * group of a call when it begins: so the groups of all calls are found in a walk before. */
#include "analyze/value_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/call_values.h"
#include "base/checksum.h"
#include "base/mem.h"
#include "base/search.h"
#include "values/condition.h"
#include "values/parts.h"

enum { TABLE = 2048 }; /* more than twice VALUE_GROUPS_MOST */

struct value {
    char *text, *json;
};

struct grouped { /* a call */
    uint64_t ns;
    uint32_t stream, depth, number;
};

struct value_groups {
    char *text; /* as typed; owns the expression's */
    const char *expression;
    struct spec spec;
    uint8_t *functions; /* 1: the expression was recorded of it */
    ARRAY(struct value) values;
    uint16_t table[TABLE];       /* by hash of a value's text: its number + 1 */
    ARRAY(struct grouped) calls; /* ascending */
};

void value_groups_free(struct value_groups *g) {
    if (!g)
        return;
    for (size_t i = 0; i < g->values.count; i++) {
        free(g->values.at[i].text);
        free(g->values.at[i].json);
    }
    ARRAY_FREE(&g->values);
    ARRAY_FREE(&g->calls);
    spec_done(&g->spec);
    free(g->functions);
    free(g->text);
    free(g);
}

/* ---- what is asked for ---- */

static const struct spec_node *root(const struct value_groups *g) {
    return g->spec.terms.at[0].root;
}

/* *RET_PATTERN: NULL if there is none. */
static int split(struct value_groups *g, const char *text, const char **ret_pattern,
                 struct err *err) {
    const size_t length = strlen(text);
    *ret_pattern = NULL;
    if (!length || text[length - 1] != '/') {
        g->text = mem_strdup(text);
        g->expression = g->text;
        return 0;
    }
    int rc = condition_split(text, &g->text, &g->expression, err);
    *ret_pattern = g->text;
    return rc;
}

static int parse(struct value_groups *g, struct err *err) {
    int rc = spec_parse(g->expression, &g->spec, err);
    if (rc < 0)
        return rc;
    if (g->spec.terms.count > 1)
        return spec_error(err, g->expression, g->spec.terms.at[1].at,
                          "one expression makes groups");
    if (g->spec.terms.at[0].format.letter || g->spec.terms.at[0].format.bits)
        return spec_error(err, g->expression, 0, "a format belongs to record -A");
    return 0;
}

static int find_functions(const struct value_groups *g, const char *pattern, struct names *names,
                          struct err *err) {
    struct filter filter = {0};
    int rc = filter_add(&filter, 'F', pattern, err);
    if (!rc) {
        view_filter_note_names(&filter, names);
        rc = view_filter_check("group", filter.functions.at[0], names, err);
    }
    for (uint32_t i = 0; !rc && i + 1 < names_count(names); i++)
        g->functions[i] = names_match(names, i, filter.functions.at[0]);
    filter_done(&filter);
    return rc;
}

/* Leaves only functions of which the expression was recorded. */
static bool keep_recorded(struct value_groups *g, struct trace_reader *r, struct names *names) {
    uint8_t *wanted = g->functions;
    bool any = false;
    g->functions = mem_alloc(names_count(names) + 1);
    for (size_t i = 0; i < trace_reader_capture_count(r); i++) {
        uint32_t id;
        struct part_place place;
        const struct capture *c = trace_reader_capture(r, i, &id);
        const uint32_t function = names_index(names, id);
        const bool at_end = c->kind != EVENT_ENTRY;
        if (!wanted[function] || at_end != spec_has_result(root(g)) ||
            !part_find(trace_reader_types(r), c, root(g), &place))
            continue;
        g->functions[function] = 1;
        any = true;
    }
    free(wanted);
    return any;
}

static int choose_functions(struct value_groups *g, const char *pattern,
                            const struct source *source, struct err *err) {
    g->functions = mem_alloc(names_count(source->names) + 1);
    memset(g->functions, 1, names_count(source->names));
    int rc = pattern ? find_functions(g, pattern, source->names, err) : 0;
    if (rc < 0)
        return rc;
    if (!trace_reader_has_values(source->reader) ||
        !keep_recorded(g, source->reader, source->names))
        return err_set(err, ENOENT, "no-values",
                       "--group: '%s' was recorded of no function: record with -A 'PATTERN@%s'",
                       g->expression, g->expression);
    return 0;
}

/* ---- values ---- */

static uint32_t number_of_text(struct value_groups *g, const struct words *text,
                               const struct words *json) {
    uint32_t i = (uint32_t)checksum(json->at, json->count) % TABLE;
    for (; g->table[i]; i = (i + 1) % TABLE) {
        const struct value *v = &g->values.at[g->table[i] - 1];
        if (strlen(v->json) == json->count && memcmp(v->json, json->at, json->count) == 0 &&
            strlen(v->text) == text->count && memcmp(v->text, text->at, text->count) == 0)
            return g->table[i] - 1u;
    }
    if (g->values.count == VALUE_GROUPS_MOST)
        return VALUE_GROUP_OTHERS;
    ARRAY_PUSH(&g->values, ((struct value){mem_printf("%.*s", (int)text->count, text->at),
                                           mem_printf("%.*s", (int)json->count, json->at)}));
    g->table[i] = (uint16_t)g->values.count;
    return g->table[i] - 1u;
}

static uint32_t unknown(struct value_groups *g) {
    struct words text = {0}, json = {0};
    words_add(&text, "?");
    words_add(&json, "null");
    const uint32_t number = number_of_text(g, &text, &json);
    words_done(&text);
    words_done(&json);
    return number;
}

static uint32_t number_at(struct value_groups *g, struct call_values *values,
                          const struct call_point *point) {
    struct trace_occurrence o;
    struct part_place place;
    struct words text = {0}, json = {0};
    const struct printer *printer = call_values_printer(values);
    if (!call_values_find(values, point, &o) ||
        !part_find(printer->types, o.capture, root(g), &place))
        return unknown(g);
    const struct part part = part_of(&place, o.capture, o.values);
    part_text(printer, &part, &text);
    part_json(printer, &part, &json);
    const uint32_t number = number_of_text(g, &text, &json);
    words_done(&text);
    words_done(&json);
    return number;
}

/* ---- calls ---- */

struct reading {
    struct value_groups *groups;
    struct call_values *values;
};

static void add(struct value_groups *g, const struct walk_call *call, uint32_t number) {
    ARRAY_PUSH(&g->calls, ((struct grouped){call->start_ns, call->stream, call->depth, number}));
}

static uint32_t on_open(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    const struct call_point point = {call->stream, call->id, EVENT_ENTRY, call->start_ns};
    if (r->groups->functions[call->function] && !spec_has_result(root(r->groups)))
        add(r->groups, call,
            call->before ? unknown(r->groups) : number_at(r->groups, r->values, &point));
    return 0;
}

static void on_close(void *ctx, const struct walk_call *call) {
    struct reading *r = ctx;
    const struct call_point point = {call->end_stream, call->id, EVENT_RETURN, call->end_ns};
    if (r->groups->functions[call->function] && spec_has_result(root(r->groups)))
        add(r->groups, call,
            call->how == CALL_RETURNED ? number_at(r->groups, r->values, &point)
                                       : unknown(r->groups));
}

static int compare(const void *a, const void *b) {
    const struct grouped *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static void read_calls(struct value_groups *g, const struct source *source) {
    struct reading r = {g, call_values_new(source->reader, source->names)};
    const struct visitor visitor = {
        .ctx = &r, .no_self = true, .wants_silent = true, .open = on_open, .close = on_close};
    walk_all(source, &visitor);
    call_values_free(r.values);
    if (g->calls.count)
        qsort(g->calls.at, g->calls.count, sizeof *g->calls.at, compare);
}

int value_groups_new(const char *text, const struct source *source, struct value_groups **ret,
                     struct err *err) {
    struct value_groups *g = mem_alloc(sizeof *g);
    const char *pattern;
    int rc = split(g, text, &pattern, err);
    rc = rc ? rc : parse(g, err);
    rc = rc ? rc : choose_functions(g, pattern, source, err);
    if (rc < 0) {
        value_groups_free(g);
        return rc;
    }
    read_calls(g, source);
    *ret = g;
    return 0;
}

uint32_t value_groups_of(const struct value_groups *g, const struct walk_call *call) {
    if (!g->functions[call->function])
        return VALUE_GROUP_NONE;
    const struct grouped key = {call->start_ns, call->stream, call->depth, 0};
    const size_t i = SEARCH(k, g->calls.count, compare(&g->calls.at[k], &key) < 0);
    return i < g->calls.count && compare(&g->calls.at[i], &key) == 0 ? g->calls.at[i].number
                                                                     : VALUE_GROUP_NONE;
}

const char *value_groups_expression(const struct value_groups *g) { return g->expression; }

const char *value_groups_text(const struct value_groups *g, uint32_t number) {
    if (number == VALUE_GROUP_NONE)
        return "-";
    return number == VALUE_GROUP_OTHERS ? "others" : g->values.at[number].text;
}

const char *value_groups_json(const struct value_groups *g, uint32_t number) {
    return number < g->values.count ? g->values.at[number].json : NULL;
}

/* The JSON of spoor explain. */
#include <stdio.h>

#include "cmd/explain.h"
#include "cmd/json.h"

static void print_exits(FILE *out, const struct plan_function *f) {
    const char *separator = "";
    for (int i = TIER_COUNT; i-- > 0;) {
        if (!f->exits[i] && i != TIER_NONE)
            continue;
        fprintf(out, "%s\"%s\": %u", separator, tier_name((enum tier)i), f->exits[i]);
        separator = ", ";
    }
}

/* Prints COUNT inferred exits. INFERRED holds their numbers in s->view.places. */
static void print_inferred(FILE *out, const struct subject *s, const uint32_t *inferred,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct plan_place *p = &s->view.places.at[inferred[i]];
        fprintf(out, "%s{\"address\": %ju, \"kind\": \"%s\", \"refused\": \"%s\"}", i ? ", " : "",
                p->at, place_name(p->kind), refusal_tag(p->refused));
    }
}

/* Sorts the numbers of inferred exits by function: those of function I are PLACES[FIRST[I]] up to
 * PLACES[FIRST[I + 1]]. FIRST has room for all functions and two more. */
static void sort_inferred(const struct subject *s, uint32_t *first, uint32_t *places) {
    size_t n = plan_function_count(s->plan);
    const struct plan_place *at = s->view.places.at;
    for (int fill = 0; fill < 2; fill++) {
        for (size_t i = 0; i < s->view.places.count; i++) {
            const struct plan_place *p = &at[i];
            if (p->tier != TIER_NONE || p->kind == PLACE_ENTRY || p->function >= n)
                continue;
            if (fill)
                places[first[p->function + 1]++] = (uint32_t)i;
            else
                first[p->function + 2]++;
        }
        for (size_t i = 2; !fill && i < n + 2; i++)
            first[i] += first[i - 1];
    }
}

static void print_function(FILE *out, const struct subject *s, uint32_t number,
                           const uint32_t *inferred, size_t count) {
    const struct plan_function *f = plan_function(s->plan, number);
    AUTO_FREE char *name = subject_name(s, number);
    fprintf(out, "{\"function\": ");
    json_print_string(out, name);
    fprintf(out, ", \"module\": ");
    json_print_string(out, s->module->name);
    fprintf(out, ", \"address\": %ju, \"size\": %ju, \"entry\": \"%s\", \"exits\": {", f->addr,
            f->size, tier_name(f->entry));
    print_exits(out, f);
    fprintf(out, "}, \"exact\": %s, \"inferred\": [",
            f->entry != TIER_NONE && f->exact ? "true" : "false");
    print_inferred(out, s, inferred, count);
    if (f->entry == TIER_NONE)
        fprintf(out, "], \"refused\": \"%s\"}", refusal_tag(f->refused));
    else
        fprintf(out, "], \"refused\": null}");
}

void explain_json(FILE *out, const struct subject *s, const char *separator) {
    size_t n = plan_function_count(s->plan);
    AUTO_FREE uint32_t *first = mem_alloc((n + 2) * sizeof *first);
    AUTO_FREE uint32_t *places = mem_alloc((s->view.places.count + 1) * sizeof *places);
    sort_inferred(s, first, places);
    for (size_t i = 0; i < s->shown.count; i++) {
        uint32_t number = s->shown.at[i];
        fprintf(out, "%s", separator);
        print_function(out, s, number, places + first[number], first[number + 1] - first[number]);
        separator = ",\n";
    }
}

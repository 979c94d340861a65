/* The list and the totals of spoor explain. */
#include <stdio.h>
#include <string.h>

#include "base/short_names.h"
#include "cmd/explain.h"
#include "cmd/figures.h"
#include "cmd/labels.h"

struct totals {
    size_t functions, instrumented, exact, trappable;
    size_t entries[TIER_COUNT], exits[TIER_COUNT], all_exits;
    size_t refused[REFUSED_COUNT], inferred[REFUSED_COUNT];
};

static void add(struct totals *t, const struct plan_function *f) {
    t->functions++;
    t->instrumented += f->entry != TIER_NONE;
    t->exact += f->entry != TIER_NONE && f->exact;
    t->entries[f->entry]++;
    t->refused[f->refused] += f->entry == TIER_NONE;
    t->trappable += f->entry == TIER_NONE && f->trap;
    for (int i = 0; i < TIER_COUNT && f->entry != TIER_NONE; i++) {
        t->exits[i] += f->exits[i];
        t->all_exits += f->exits[i];
    }
}

/* Prints all of a row but the name. Returns the columns that it takes. */
static unsigned print_facts(const struct plan_function *f) {
    uint32_t exits = 0;
    for (int i = 0; i < TIER_COUNT; i++)
        exits += f->exits[i];
    int used = printf("%12jx %8ju  %-5s ", f->addr, f->size, tier_name(f->entry));
    if (f->entry == TIER_NONE)
        used += printf("%-22s ", refusal_tag(f->refused));
    else if (f->exits[TIER_NONE])
        used +=
            printf("%4u of %-4u exits %s   ", exits - f->exits[TIER_NONE], exits, FIGURE_INFERRED) -
            figure_extra_bytes(FIGURE_INFERRED);
    else
        used += printf("%4u exit%-13s ", exits, exits == 1 ? "" : "s");
    return (unsigned)used;
}

/* The name of shown function I, as SHORTS has it or in full or mangled, in at most COLUMNS columns
 * if lines are cut. To be freed. */
static char *row_name(const struct subject *s, size_t i, const struct short_names *shorts,
                      const struct term *term, unsigned columns) {
    if (shorts)
        return term->width ? short_names_fit(shorts, i, columns)
                           : mem_strdup(short_names_at(shorts, i));
    AUTO_FREE char *full = subject_name(s, s->shown.at[i]);
    return label_single(term, full, plan_function(s->plan, s->shown.at[i])->name);
}

static void print_rows(const struct subject *s, const struct short_names *shorts,
                       const struct term *term) {
    for (size_t i = 0; i < s->shown.count; i++) {
        unsigned used = print_facts(plan_function(s->plan, s->shown.at[i]));
        AUTO_FREE char *name =
            row_name(s, i, shorts, term, term->width > used ? term->width - used : 1);
        text_print(stdout, name);
        putchar('\n');
    }
}

void explain_list(const struct subject *s, const struct term *term) {
    AUTO_FREE char **names = mem_alloc((s->shown.count + 1) * sizeof *names);
    struct short_names *shorts = NULL;
    printf("%12s %8s  %-5s %-22s %s\n", "ADDRESS", "SIZE", "ENTRY", "EXITS OR REFUSAL", "FUNCTION");
    for (size_t i = 0; i < s->shown.count && term->names == NAMES_SHORT; i++)
        names[i] = subject_name(s, s->shown.at[i]);
    if (term->names == NAMES_SHORT)
        shorts = short_names_new((const char *const *)names, s->shown.count);
    print_rows(s, shorts, term);
    putchar('\n');
    short_names_free(shorts);
    for (size_t i = 0; i < s->shown.count; i++)
        free(names[i]);
}

static double share(size_t part, size_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_tiers(const struct totals *t) {
    printf("\n  %-5s %8s %8s   %8s %8s\n", "TIER", "ENTRIES", "%", "EXITS", "%");
    for (int i = 1; i <= TIER_COUNT; i++) {
        int tier = i % TIER_COUNT; /* none is last */
        if (t->entries[tier] || t->exits[tier])
            printf("  %-5s %8zu %8.2f   %8zu %8.2f\n", tier_name((enum tier)tier), t->entries[tier],
                   share(t->entries[tier], t->functions), t->exits[tier],
                   share(t->exits[tier], t->all_exits));
    }
}

static void print_refusals(const struct totals *t, unsigned width) {
    enum { MEANING = 45 };
    if (t->instrumented == t->functions && !t->exits[TIER_NONE])
        return;
    printf("\n  %-23s %8s %8s  %s\n", "REASON", "ENTRIES", "EXITS", "MEANING");
    for (int i = 0; i < REFUSED_COUNT; i++) {
        if (!t->refused[i] && !t->inferred[i])
            continue;
        printf("  %-23s %8zu %8zu  ", refusal_tag((enum refusal)i), t->refused[i], t->inferred[i]);
        text_print_wrapped(refusal_meaning((enum refusal)i), MEANING, width);
    }
}

/* Says that more functions can be traced if -F names them. */
static void print_hint(const struct totals *t, unsigned width) {
    if (!t->trappable)
        return;
    AUTO_FREE char *text =
        mem_printf("%zu of the refused functions can be traced by a trap, at a price: "
                   "name them in full with -F.",
                   t->trappable);
    printf("\n  ");
    text_print_wrapped(text, 2, width);
}

/* Says until when programs with this file can be traced, if a function, shown or not, limits it. */
static void print_lane_write(const struct subject *s, unsigned width) {
    const vaddr_t open = plan_lane_open(s->plan), addr = open ? open : plan_lane_write(s->plan);
    if (!addr)
        return;
    uint32_t function = plan_function_at(s->plan, addr);
    AUTO_FREE char *name = function == UINT32_MAX ? mem_printf("code") : subject_name(s, function);
    AUTO_FREE char *text = mem_printf(
        "%s writes the gs base at %jx, which spoor needs for itself: %s", name, addr,
        open ? "no program that loads this file can be traced, since spoor cannot see when that "
               "code is about to run."
             : "a program that calls it is traced until then.");
    printf("\n  ");
    text_print_wrapped(text, 2, width);
}

void explain_totals(const struct subject *s, const struct term *term) {
    struct totals t = {0};
    AUTO_FREE bool *shown = mem_alloc(plan_function_count(s->plan) + 1);
    for (size_t i = 0; i < s->shown.count; i++) {
        add(&t, plan_function(s->plan, s->shown.at[i]));
        shown[s->shown.at[i]] = true;
    }
    for (size_t i = 0; i < s->view.places.count; i++) {
        const struct plan_place *p = &s->view.places.at[i];
        if (p->tier == TIER_NONE && p->kind != PLACE_ENTRY && shown[p->function])
            t.inferred[p->refused]++;
    }
    AUTO_FREE char *head = mem_printf(
        "%s: %zu function%s, %zu can be traced (%.2f %%), %zu with all exits exact (%.2f %%)",
        s->module->name, t.functions, t.functions == 1 ? "" : "s", t.instrumented,
        share(t.instrumented, t.functions), t.exact, share(t.exact, t.functions));
    printf("%s", term->color ? "\033[1m" : "");
    text_print_wrapped(head, 0, term->columns);
    printf("%s", term->color ? "\033[0m" : "");
    print_tiers(&t);
    print_refusals(&t, term->columns);
    print_hint(&t, term->columns);
    print_lane_write(s, term->columns);
}

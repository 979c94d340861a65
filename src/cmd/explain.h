/* What the parts of spoor explain share. */
#pragma once

#include "cmd/options.h"
#include "cmd/term.h"
#include "plan/plan.h"

/* One file, planned. */
struct subject {
    const struct module *module;
    const struct plan *plan;
    struct plan_view view;
    ARRAY(uint32_t) shown; /* functions that the filters select */
};

/* How its function I is called; to be freed. */
char *subject_name(const struct subject *s, size_t i);

/* ---- explain_json.c ---- */
/* The functions shown, as elements of an array; *ANY: there was one before. */
void explain_json(const struct subject *s, bool *any);

/* ---- explain_table.c ---- */
/* A line a function. */
void explain_list(const struct subject *s);
/* How many there are of each tier and refusal. */
void explain_totals(const struct subject *s, const struct term *term);
/* TEXT, broken at blanks; lines begin at column INDENT, the first is there already. */
void explain_wrapped(const char *text, unsigned indent, unsigned width);

/* ---- explain_draw.c ---- */
/* The code of function NUMBER with windows, tiers and patches. */
void explain_draw(const struct subject *s, uint32_t number, const struct term *term);

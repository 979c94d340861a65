/* The parts of spoor explain. Private to explain.c and explain_*.c. */
#pragma once

#include <stdio.h>

#include "cmd/options.h"
#include "cmd/term.h"
#include "plan/plan.h"

/* A planned module, and the functions of it that are shown. */
struct subject {
    const struct module *module;
    const struct plan *plan;
    struct plan_view view;
    ARRAY(uint32_t) shown; /* numbers of functions */
};

/* The shown name of function I; to be freed. */
char *subject_name(const struct subject *s, size_t i);

/* ---- explain_json.c ---- */
/* Prints the shown functions as objects: SEPARATOR before the first one, commas between. */
void explain_json(FILE *out, const struct subject *s, const char *separator);

/* ---- explain_table.c ---- */
/* Prints a line for each shown function. */
void explain_list(const struct subject *s, const struct term *term);
/* Prints how many shown functions have each tier and refusal. */
void explain_totals(const struct subject *s, const struct term *term);

/* ---- explain_probes.c ---- */
/* Prints a line for each USDT probe of the file, and an empty one; nothing if it has none. */
void explain_probes(const struct subject *s);

/* ---- explain_draw.c ---- */
/* Draws the code of function NUMBER with windows, tiers and patches. */
void explain_draw(const struct subject *s, uint32_t number, const struct term *term);

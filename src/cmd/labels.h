/*
 * The names of functions as a text view prints them: --names. The default is short on a terminal,
 * where names are also cut so that lines fit, and full elsewhere. JSON does not use this.
 */
#pragma once

#include "analyze/names.h"
#include "cmd/term.h"

struct labels;
struct places;

/* NAMES must outlive the labels. */
struct labels *labels_new(struct names *names, const struct term *term);
void labels_free(struct labels *l);

/* The name of FUNCTION; lives as long as L. */
const char *labels_at(struct labels *l, uint32_t function);
/* The same in at most COLUMNS columns, if lines are cut. To be freed. */
char *labels_fit(struct labels *l, uint32_t function, size_t columns);
/* The names of COUNT functions in LIST, likewise: different ones look different where that is
 * possible. Each of RET is to be freed. */
void labels_fit_all(struct labels *l, const uint32_t *list, size_t count, size_t columns,
                    char **ret);
/* The name of FUNCTION of PLACES, which may be one that NAMES does not know. To be freed. */
char *labels_place(struct labels *l, struct places *places, uint32_t function);

/* A single name in the form that TERM asks for. SYMBOL is NULL if there is none. To be freed. */
char *label_single(const struct term *term, const char *readable, const char *symbol);
/* TEXT cut to COLUMNS columns if TERM cuts lines. To be freed. */
char *label_cut(const struct term *term, const char *text, size_t columns);

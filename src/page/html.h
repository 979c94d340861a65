/* One file that shows a trace in any browser: the page, and the answers that it asks for. */
#pragma once

#include <stdio.h>

#include "cmd/options.h"
#include "page/answers.h"

/* Writes options->page.html, of the times and threads that OPTIONS choose. Prints errors. Returns
 * spoor's exit status. */
int html_write(const struct options *options, struct shown *shown);

/* ---- html_page.c ---- */
/* The page up to the place where its data belong, and the rest. NONCE is a word that its script and
 * style have: nothing else may run. To be freed. */
char *html_page_head(const char *nonce);
char *html_page_rest(const char *nonce);

/* ---- html_calls.c ---- */
enum { LISTED_FUNCTIONS = 500, LISTED_CALLS = 20 };
/* Objects by number of a function: its histogram, and its slowest calls, as the answers for it. Of
 * the functions of STATS, W's range, that take the most time. */
void html_write_histograms(FILE *out, const struct stats *stats);
void html_write_calls(FILE *out, struct writing *w, const struct stats *stats);

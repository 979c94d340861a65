/*
 * Functions that chains of callers lead through (record --stack), traced or not, under the numbers
 * that names.h gives, and further ones for those that it does not know. Those of the same name and
 * module have one number.
 */
#pragma once

#include "analyze/names.h"

struct places;
/* R and NAMES must outlive the places. */
struct places *places_new(const struct trace_reader *r, struct names *names);
void places_free(struct places *p);

uint32_t places_count(const struct places *p); /* numbers are smaller, at least names_count() */
/* By number, as names_function() and names_module_name() say it. */
const char *places_function(struct places *p, uint32_t function);
const char *places_module(struct places *p, uint32_t function);

/* Whether functions of other modules have the same name, among those that chains lead through. */
bool places_is_shared(const struct places *p, uint32_t function);

/* The chain that stands for all that are shown as CHAIN is: functions of the same names and modules
 * (local ones of different files, say), and the same end. */
uint32_t places_chain(const struct places *p, uint32_t chain);
/* The function that chain *CHAIN begins with; *CHAIN becomes the chain of that. False: it is how
 * the chain ends (enum chain_end). */
bool places_next(const struct places *p, uint32_t *chain, uint32_t *ret_function);
/* "whole" and so on, of what places_next() has left; "none" of CHAIN_NONE. */
const char *places_end(uint32_t chain);

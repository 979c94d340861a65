/* Numbers the functions in chains of callers (record --stack), traced or not. Traced functions keep
 * the numbers of names.h; the others get further ones. Functions of the same name and module have
 * one number. */
#pragma once

#include "analyze/names.h"

struct places;
/* R and NAMES must outlive the places. */
struct places *places_new(const struct trace_reader *r, struct names *names);
void places_free(struct places *p);

uint32_t places_count(const struct places *p); /* numbers are below this; at least names_count() */
/* As names_function() and names_module_name() give them. */
const char *places_function(struct places *p, uint32_t function);
/* As in the symbol table; NULL: not known. */
const char *places_symbol(struct places *p, uint32_t function);
const char *places_module(struct places *p, uint32_t function);

/* True if functions of different modules, among those in chains, have this name. */
bool places_is_shared(const struct places *p, uint32_t function);

/* The representative of all chains that are shown like CHAIN: the same names and modules (local
 * functions of different files, say), and the same end. */
uint32_t places_chain(const struct places *p, uint32_t chain);
/* Takes the first function off chain *CHAIN. False: *CHAIN is an end (enum chain_end). */
bool places_next(const struct places *p, uint32_t *chain, uint32_t *ret_function);
/* The name of the end that places_next() has reached, such as "whole"; "none" for CHAIN_NONE. */
const char *places_end(uint32_t chain);

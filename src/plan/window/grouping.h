/* The steps of groups_find(). Private to it: groups.c, parts.c, tables.c. */
#pragma once

#include "plan/window/groups.h"

void groups_unite(struct groups *g, uint32_t x, uint32_t y);
/* Unites functions with nameless ranges within their symbols' sizes, and with their landing pads.
 */
void parts_join(struct groups *g);
/* Unites parts that are left over with the functions that their names tell. If several functions
 * have that name, the part is a stray of each. */
void parts_join_named(struct groups *g);
/* Follows jump tables, and unites the ranges that they lead to. Adds to RET_WORDS, sorted, words of
 * tables that lead to starts of parts: these words take no address. */
void tables_decode(struct groups *g, address_list *ret_words);

/* The steps of groups_find(). Private to it: groups.c, tables.c. */
#pragma once

#include "plan/window/groups.h"

void groups_unite(struct groups *g, uint32_t x, uint32_t y);
/* Follows jump tables, and unites the ranges that they lead to. Adds to RET_WORDS, sorted, words of
 * tables that lead to starts of parts: these words take no address. */
void tables_decode(struct groups *g, address_list *ret_words);

/* What groups_find() is made of. Private to it: groups.c, tables.c. */
#pragma once

#include "plan/window/groups.h"

void groups_unite(struct groups *g, uint32_t x, uint32_t y);
/* Follows jump tables, and unites what they lead to. Adds to RET_WORDS, which is sorted then, words
 * that lead to starts of parts of a switch: these take no address. */
void tables_decode(struct groups *g, address_list *ret_words);

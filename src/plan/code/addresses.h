/* Growing lists of addresses, with binary search in sorted ones. */
#pragma once

#include "base/mem.h"
#include "base/search.h"
#include "base/types.h"
#include "elf/sort.h"

typedef ARRAY(vaddr_t) address_list;

static inline void list_sort(address_list *list) {
    sort_by_address(list->at, list->count, sizeof *list->at);
}
/* LIST is sorted. The index of its first address that is not below ADDR. */
static inline size_t list_place(const address_list *list, vaddr_t addr) {
    return SEARCH(i, list->count, list->at[i] < addr);
}
static inline bool list_holds(const address_list *list, vaddr_t addr) {
    size_t i = list_place(list, addr);
    return i < list->count && list->at[i] == addr;
}

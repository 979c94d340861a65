/* Sorting of address-keyed records, the one costly step that every table of a module needs. */
#pragma once

#include <stddef.h>

/*
 * Sorts COUNT records of SIZE bytes by the vaddr_t each of them starts with. Stable; linear in
 * COUNT, and without any copying of those that are in order already at the start.
 */
void sort_by_address(void *records, size_t count, size_t size);

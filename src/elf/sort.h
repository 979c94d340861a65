/* Sorts records by address: the costly step that every table of a module needs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sorts COUNT records of SIZE bytes by the vaddr_t at their start. Stable, linear in COUNT, and
 * cheap if only a few records at the end are out of order. */
void sort_by_address(void *records, size_t count, size_t size);

/* Sorts numbers, in time linear in COUNT and with no memory besides. */
void sort_words(uint64_t *words, size_t count);

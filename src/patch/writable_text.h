/* The memory that a program may write, as far as it is known. */
#pragma once

#include "base/mem.h"
#include "base/types.h"

struct maps;

struct writable_text { /* run-time addresses that the program may write, ascending, disjoint */
    ARRAY(struct span) list;
};

/* Sets TEXT to what MAPS show. */
void writable_text_set(struct writable_text *text, const struct maps *maps);
/* The pages PAGES become writable, or stop being so. */
void writable_text_change(struct writable_text *text, struct span pages, bool writable);

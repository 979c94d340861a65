/* What is known of a process's maps while its text is written: the memory that the program may
 * write, and the files that it has mapped. */
#pragma once

#include <sys/types.h>

#include "base/mem.h"
#include "base/types.h"

struct maps;

struct text_file { /* private memory of a file */
    struct span at;
    uint64_t offset; /* in the file */
    uint64_t inode;
    dev_t device;
};

struct writable_text { /* run-time addresses that the program may write, ascending, disjoint */
    ARRAY(struct span) list;
    ARRAY(struct text_file) files; /* executable, ascending */
};

/* Sets TEXT to what MAPS show. */
void writable_text_set(struct writable_text *text, const struct maps *maps);
void writable_text_done(struct writable_text *text);
/* The pages PAGES become writable, or stop being so. */
void writable_text_change(struct writable_text *text, struct span pages, bool writable);

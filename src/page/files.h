/* The files of the page, which are in the program. */
#pragma once

#include <stddef.h>

struct page_file {
    const char *name;           /* without a folder */
    const unsigned char *bytes; /* with a zero behind the last one */
    size_t size;
};

/* Ends with name == NULL. */
extern const struct page_file page_files[];

/* NULL: there is none of that name. */
const struct page_file *page_file_find(const char *name);
/* Its media type, for HTTP. */
const char *page_file_type(const struct page_file *file);

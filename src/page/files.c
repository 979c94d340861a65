/* See files.h. */
#include "page/files.h"

#include <string.h>

#include "page_files.inc"

const struct page_file *page_file_find(const char *name) {
    for (const struct page_file *f = page_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

const char *page_file_type(const struct page_file *file) {
    static const struct {
        const char *end, *type;
    } types[] = {{".html", "text/html; charset=utf-8"},
                 {".js", "text/javascript; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    const char *end = strrchr(file->name, '.');
    for (size_t i = 0; end && i < sizeof types / sizeof *types; i++)
        if (strcmp(end, types[i].end) == 0)
            return types[i].type;
    return "application/octet-stream";
}

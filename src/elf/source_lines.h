/* The source files and lines in which the functions of an ELF file begin, from its debugging
 * information: in the file, or in a debug file on this machine. No network is used. */
#pragma once

#include "base/types.h"

struct source_line {
    const char *file; /* path in the debugging information; NULL: not known */
    unsigned line;
};

struct source_lines;
/* Of COUNT functions at STARTS (link-time). ID: the build ID that the file must have; size 0: any.
 * NULL: there is no such file, or it has no debugging information. */
struct source_lines *source_lines_new(const char *path, const uint8_t *id, size_t id_size,
                                      const vaddr_t *starts, size_t count);
/* Of function I. */
struct source_line source_lines_at(const struct source_lines *s, size_t i);
void source_lines_free(struct source_lines *s);

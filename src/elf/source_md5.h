/* The MD5 of source files, as the compiler read them. DWARF 5 has a place for it in the tables of
 * lines. Clang writes it; GCC 12 does not. */
#pragma once

#include "base/md5.h"
#include "base/types.h"

struct build_id {
    const uint8_t *bytes;
    size_t size;
};

/* Of FILE, as source_lines.h names it, in the unit of the code at ADDR in the ELF file PATH. ID: as
 * of source_lines_new(). False: it is not known. */
bool source_md5(const char *path, struct build_id id, vaddr_t addr, const char *file,
                uint8_t ret[MD5_BYTES]);
/* Of file INDEX of the table of lines at BYTES (DWARF 5, 6.2.4): untrusted bytes. Exposed for
 * tests. */
bool source_md5_of_table(const uint8_t *bytes, size_t size, uint64_t index, uint8_t ret[MD5_BYTES]);

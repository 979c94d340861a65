/*
 * All types of a file, whatever form it has them in: CTF or BTF (an ELF file's section, or a file
 * of their own, as /sys/kernel/btf/vmlinux), else DWARF, also of a separate debug file.
 */
#pragma once

#include "types/ctf.h"

enum types_form { TYPES_CTF, TYPES_BTF, TYPES_DWARF };

struct type_file {
    struct type_set set; /* of DWARF: types that have names, functions that have code */
    enum types_form form;
    struct type_file_source *source;
};

/*
 * Opens the types of PATH. Of DWARF, whose types may take gigabytes, only those of the name WANTED
 * are in the set, and no symbols, unless WANTED is NULL. Errors: those of opening and reading;
 * ENOENT "no-types" if there are none. RET must not move while it is used; the caller calls
 * type_file_close().
 */
int type_file_open(const char *path, const char *wanted, struct type_file *ret, struct err *err);
/* Calls SEE for the names of all types, also of those that are not in the set, until it returns
 * false. */
void type_file_names(struct type_file *f, bool (*see)(void *ctx, const char *name), void *ctx);
void type_file_close(struct type_file *f); /* may be empty */

/*
 * All types of a file, whatever form it has them in: CTF or BTF (an ELF file's section, or a file
 * of their own, as /sys/kernel/btf/vmlinux), else DWARF, also of a separate debug file.
 */
#pragma once

#include "types/ctf.h"

enum types_form { TYPES_CTF, TYPES_BTF, TYPES_DWARF };

struct type_file {
    struct types *graph;
    enum types_form form;
    struct type_file_source *source;
};

/*
 * Opens the types of PATH. Errors: those of opening and reading; ENOENT "no-types" if there are
 * none. RET must not move while it is used; the caller calls type_file_close().
 */
int type_file_open(const char *path, struct type_file *ret, struct err *err);
/*
 * Calls SEE for each type, of DWARF only for those that have names, until it returns false. WANTED:
 * types with other names may be left out; NULL: none are. The types of DWARF may take gigabytes: so
 * SEE may call type_file_forget().
 */
void type_file_types(struct type_file *f, const char *wanted, bool (*see)(void *ctx, type_id id),
                     void *ctx);
/* The same for functions, of DWARF those that have code, and for variables. */
void type_file_symbols(struct type_file *f,
                       bool (*see)(void *ctx, const struct type_symbol *symbol), void *ctx);
/* Lets the graph forget all types if there are many. The COUNT types of KEPT get new numbers then.
 * False: nothing has changed. */
bool type_file_forget(struct type_file *f, type_id *kept, size_t count);
/* Calls SEE for the names of all types, until it returns false. */
void type_file_names(struct type_file *f, bool (*see)(void *ctx, const char *name), void *ctx);
void type_file_close(struct type_file *f); /* may be empty */

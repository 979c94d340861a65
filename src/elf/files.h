/*
 * The files that a module opened with MODULE_LATER was made of: which they are, what they contain,
 * and whether they have changed since. And its symbols in flat form. A cache keeps what was made of
 * a module by these.
 */
#pragma once

#include "base/digest.h"
#include "base/file_id.h"
#include "base/flat.h"
#include "elf/module.h"

enum module_file { MODULE_FILE, MODULE_DEBUG_FILE, MODULE_FILES };

/* False: the module has no such file, or it is not known. */
bool module_file_id(const struct module *module, enum module_file which, struct file_id *ret);
/* Adds to D all of the file that loading reads: everything but DWARF's large sections. */
void module_file_digest(const struct module *module, enum module_file which, struct digest *d);
/* False if a file was changed since it was opened, or may have been; or if the module was made of
 * something that has no identity. */
bool module_files_are_same(const struct module *module);
/* False if a file was changed since, as far as can be told: of one that was fresh when it was
 * opened only its presence counts. */
bool module_files_may_be_same(const struct module *module);
/* False if another user could change a file while it is read. What was made of such a file must not
 * be kept for others with the same contents. */
bool module_files_are_trusted(const struct module *module);
/* Closes the files. They need not be known any more. */
void module_forget_files(struct module *module);

/* Writes the symbols of MODULE. *RET_NAMES: the place of each symbol's name in the flat form; the
 * caller frees it. */
void flat_symbols_write(const struct module *module, struct flat_writer *w, uint32_t **ret_names);
/* Gives MODULE the symbols that R has. Must be called before module_complete(). The memory of R is
 * SIZE bytes from mem_map() at PAGES; MODULE takes them over. False: R has no such thing; then
 * MODULE is unchanged. */
bool flat_symbols_read(struct module *module, struct flat_reader *r, void *pages, size_t size);
/* The name at PLACE, a number of flat_symbols_write(); NULL: there is none. */
const char *flat_symbols_name(const struct module *module, uint64_t place);

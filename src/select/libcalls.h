/*
 * Library calls (--libcalls): which functions of other modules a program's executable calls by
 * name. These are what its dynamic symbol table leaves undefined; where it can look names up while
 * it runs (dlsym), all that a library exports.
 *
 * Which definition of a name the dynamic linker binds is not asked: all are selected, and the stubs
 * (STUB_CALLER) tell which of them the executable calls.
 */
#ifndef SPOOR_SELECT_LIBCALLS_H
#define SPOOR_SELECT_LIBCALLS_H

#include "select/select.h"
#include "select/traced_module.h"

struct libcalls;

struct libcalls *libcalls_new(const struct module *program);
void libcalls_free(struct libcalls *calls);
/* The names, sorted. */
const char *const *libcalls_names(const struct libcalls *calls, size_t *ret_count);
/* Whether it may call functions that it does not name. */
bool libcalls_any(const struct libcalls *calls);

/* Whether LIBRARY defines any function that may be called. */
bool libcalls_touch(const struct libcalls *calls, const struct module *library);

/* Adds to ENTRY, which is planned, what of it is called and passes -F and -N. Returns whether that
 * is more than before. */
bool libcalls_select(const struct libcalls *calls, struct selection *selection,
                     struct entry *entry);

#endif

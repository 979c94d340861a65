/*
 * Library calls (--libcalls): the functions of other modules that a program's executable calls.
 * These are the undefined symbols of its dynamic symbol table. If the executable can look up names
 * while it runs (dlsym), these are all functions that libraries export.
 *
 * All definitions of a name are selected. Their stubs (STUB_CALLER) record only calls from the
 * executable, so this file need not know which definition the dynamic linker binds.
 */
#pragma once

#include "select/select.h"
#include "select/traced_module.h"

struct libcalls;

struct libcalls *libcalls_new(const struct module *program);
void libcalls_free(struct libcalls *calls);
/* The names of the undefined symbols, sorted. */
const char *const *libcalls_names(const struct libcalls *calls, size_t *ret_count);
/* True if the program may also call all other exported functions (dlsym). */
bool libcalls_reach_all(const struct libcalls *calls);

/* True if LIBRARY defines a function that the program may call. */
bool libcalls_defined_in(const struct libcalls *calls, const struct module *library);

/* Selects the functions of M, a planned module, that the program may call and that -F and -N
 * choose. Returns true if it has added any. */
bool libcalls_select(const struct libcalls *calls, struct selection *selection,
                     struct traced_module *m);

/*
 * Library calls (--libcalls): the functions of other modules that a program's executable calls.
 * These are the undefined symbols of its dynamic symbol table. If it can look up names while it
 * runs (dlsym), these are all functions that libraries export.
 *
 * All definitions of a name are selected: the stubs (STUB_CALLER) tell which of them the executable
 * calls, so nothing here must know to which of them the dynamic linker binds the name.
 */
#pragma once

#include "select/select.h"
#include "select/traced_module.h"

struct libcalls;

struct libcalls *libcalls_new(const struct module *program);
void libcalls_free(struct libcalls *calls);
/* The names, sorted. */
const char *const *libcalls_names(const struct libcalls *calls, size_t *ret_count);
/* True if it may call functions by other names (dlsym). */
bool libcalls_any(const struct libcalls *calls);

/* True if LIBRARY defines a function that may be called. */
bool libcalls_touch(const struct libcalls *calls, const struct module *library);

/* Adds to the selection of M, which is planned, the functions that may be called and that -F
 * and -N choose. Returns true if it has added any. */
bool libcalls_select(const struct libcalls *calls, struct selection *selection,
                     struct traced_module *m);

/* Shared by the tests of src/elf. Fixtures are what meson.build makes, in the directory FIXTURES.
 */
#pragma once

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf/internal.h"

/* All loadable fixtures, NULL-terminated. Some depend on installed tools. */
extern const char *const fixture_names[];
bool fixture_exists(const char *name);
/* The variants of fixtures/shapes.c that run on this machine and have their symbols. */
bool fixture_is_shapes(const char *name);

/* Path of a fixture; the caller frees it. */
char *fixture_path(const char *name);
/* Loads a fixture and checks its invariants; fails the test on any error. */
struct module *fixture_load(const char *name, unsigned flags);
/* The bytes of a fixture, for tests that damage them; the caller frees them. */
uint8_t *fixture_read(const char *name, size_t *ret_size);

/* Loads a copy of BYTES from the heap, where a sanitizer guards their end. */
int load_bytes(const uint8_t *bytes, size_t size, struct module **ret, struct err *err);

/* File name of the shared library or program that holds ADDR of this process. */
const char *path_of(const void *addr);

/* Fails the test unless NAME is a symbol. */
const struct symbol *symbol(const struct module *module, const char *name);

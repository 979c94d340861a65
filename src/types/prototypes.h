/*
 * Prototypes of the C library's functions, for libraries without debugging information. They are
 * read from a library without code that the build makes (tools/make-prototypes).
 */
#pragma once

#include "base/err.h"
#include "types/signature.h"

/* Where this program's prototypes are: installed, or in the folder that it was built in. To be
 * freed. */
char *prototypes_path(void);

struct prototypes;
/* GRAPH must outlive the result. Errors: those of module_load() and debug_types_open(). */
int prototypes_open(const char *path, struct types *graph, struct prototypes **ret,
                    struct err *err);
/* Types that were not read become unknown. P may be NULL. */
void prototypes_close(struct prototypes *p);
/* The signature of the function that C libraries export as NAME; all its parameters are where the
 * ABI puts them. False: unknown. The caller calls signature_done(). */
bool prototypes_find(struct prototypes *p, const char *name, struct signature *ret);
size_t prototypes_count(struct prototypes *p);

/*
 * What functions take and return: from a module's debugging information; of a C library without
 * any, from the prototypes of its headers.
 */
#pragma once

#include "select/traced_module.h"
#include "types/signature.h"

struct prototypes;

struct signature_sources {
    struct types *graph;
    struct prototypes *prototypes; /* of C libraries; NULL: not read yet, or there are none */
    bool tried;
};
void signature_sources_done(struct signature_sources *s);

/* The signature of function I of M, whose pointers have WORD bytes. False: not known. The caller
 * calls signature_done(). */
bool signature_of(struct signature_sources *s, struct traced_module *m, uint32_t i, unsigned word,
                  struct signature *ret);
/* What was read for M; may be NULL. */
void signatures_free(struct signatures *s);

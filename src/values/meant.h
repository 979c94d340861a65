/* Names that may have been meant, for errors in SPECs and conditions. */
#pragma once

#include "base/err.h"
#include "base/near.h"

struct meant {
    struct near_names near;
    char *some; /* the first ones, whether near or not; NULL: none */
    unsigned count;
};
/* TYPED: the name that is none of them. */
void meant_begin(struct meant *m, const char *typed);
void meant_consider(struct meant *m, const char *name);
/* The error WHAT at AT of TEXT (spec_error()), with the names that are near, or the first ones.
 * Ends M. */
int meant_fail(struct meant *m, struct err *err, const char *text, size_t at, const char *what);

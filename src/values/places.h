/* Where a function's parameters and its result are: debugging information first, then the ABI.
 * Private to src/values. */
#pragma once

#include "types/signature.h"
#include "values/abi.h"

struct places {
    struct abi_place *parameters; /* signature->count of them */
    struct abi_place result;      /* at a return */
};
void places_init(struct places *ret, struct types *types, const struct signature *s, enum abi of_c);
void places_done(struct places *p);

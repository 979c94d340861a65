/* Facts about parameters and results that the module's code proves, where neither debugging
 * information nor a calling convention tells them. */
#pragma once

#include "plan/results.h"
#include "types/signature.h"
#include "values/abi.h"

/* Completes *S, the signature of the function of M at START. TYPES: those of the signature. ABI: of
 * the machine. */
void proven_places(const struct module *m, vaddr_t start, struct types *types, enum abi abi,
                   struct signature *s);
/* The same of the result of Q's function, which the compiler may have taken away from it. */
void proven_result(struct result_uses *uses, const struct result_question *q, struct types *types,
                   enum abi abi, struct signature *s);

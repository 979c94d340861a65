/*
 * Whether functions return something, as the module's code shows. Compilers make clones of
 * functions whose result nobody uses, which return nothing; debugging information still has the
 * result's type.
 */
#pragma once

#include "plan/plan.h"

struct result_uses;
/* Of PLAN's module M; both must outlive it. It looks at nothing before it is asked. */
struct result_uses *result_uses_new(const struct plan *plan, const struct module *m);
void result_uses_free(struct result_uses *u); /* U may be NULL */

/*
 * True if what FUNCTION leaves in the register REG (struct data_use, arch/arch.h) is its result:
 * its code writes REG, and a caller needs what is there behind the call. (If only a caller read it,
 * it could be a value of its own, which the compiler knows that the function leaves alone.)
 */
bool result_is_used(struct result_uses *u, uint32_t function, unsigned reg);
/*
 * True if FUNCTION, whose code is optimised, makes a value in REG where it ends, which no
 * instruction reads.
 */
bool result_is_made(struct result_uses *u, uint32_t function, unsigned reg);
struct result_question {
    uint32_t function;
    /* Whether a caller returns nothing by its type. */
    bool (*is_void)(void *ctx, uint32_t caller);
    void *ctx;
};
/*
 * True if the function surely returns nothing in REG any more: on some way its code leaves REG as
 * it was, and nobody takes what is there behind a call. All that use the function are known: no
 * other module can call it, and no address of it is taken.
 */
bool result_is_gone(struct result_uses *u, const struct result_question *q, unsigned reg);
/* True if the address of FUNCTION is taken: then callers that the compiler does not see rely on the
 * calling convention. */
bool result_address_is_taken(struct result_uses *u, uint32_t function);
/* True if FUNCTION surely returns its first argument, in the registers of the calling convention:
 * the address of a result in memory. */
bool result_is_first_argument(struct result_uses *u, uint32_t function);

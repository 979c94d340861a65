/* Who calls a function, or takes its address. Private to src/plan/proof. */
#pragma once

#include "arch/arch.h"
#include "plan/results.h"

struct call_site {
    vaddr_t at;        /* a byte of the instruction, or of data that looks like it */
    uint32_t function; /* that is called */
    bool takes;        /* its address is computed */
};
struct result_uses {
    const struct plan *plan;
    const struct module *module;
    const struct arch *arch;
    bool read;                     /* `sites` are found */
    ARRAY(struct call_site) sites; /* by function, then by address */
};

/* Decodes the instruction at *PC and steps over it; *RET_BYTES: its bytes. False: there is none. */
bool callers_step(const struct result_uses *u, vaddr_t *pc, struct insn *ret,
                  const uint8_t **ret_bytes);
/* The index of the first site of FUNCTION. */
size_t callers_first(struct result_uses *u, uint32_t function);
/* True if an instruction that does what SITE says begins there, or one byte before. *RET_BEHIND:
 * the instruction behind it; *RET_CALLER: the function that it is in. */
bool callers_check(const struct result_uses *u, const struct call_site *site, vaddr_t *ret_behind,
                   uint32_t *ret_caller);

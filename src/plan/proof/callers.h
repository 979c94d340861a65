/* The code that calls a function, jumps to it, or takes its address. Private to src/plan/proof. */
#pragma once

#include "arch/arch.h"
#include "plan/results.h"

struct call_site {
    vaddr_t at;        /* a byte of the instruction, or of data that looks like it */
    uint32_t function; /* that is called */
    enum code_use use;
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
/* True if a call of TARGET may write a register of REGS. What is in another module may write all
 * that the calling convention permits. */
bool callers_clobber(const struct result_uses *u, vaddr_t target, uint64_t regs);
/* The index of the first site of FUNCTION. */
size_t callers_first(struct result_uses *u, uint32_t function);
enum site_check {
    SITE_UNKNOWN, /* the code around it is not known */
    SITE_NONE,    /* no instruction that does what the site says begins there, or one byte before */
    SITE_TRUE
};
/* Of SITE_TRUE, *RET_BEHIND: the instruction behind it; *RET_CALLER: the function that it is in. */
enum site_check callers_check(const struct result_uses *u, const struct call_site *site,
                              vaddr_t *ret_behind, uint32_t *ret_caller);

/* Ways through a function's code, and where they have been. */
enum { WAYS_MOST = 64, WAYS_MOST_STEPS = 400 };
struct ways {
    const struct result_uses *u;
    const struct plan_function *function;
    vaddr_t at[WAYS_MOST]; /* where ways begin */
    size_t count, next;
    unsigned steps;  /* all of them */
    bool incomplete; /* there are more ways */
};
/* One that begins at TO, if that is within the function. */
void ways_add(struct ways *w, vaddr_t to);
/* callers_step(); false, too, if there were too many steps. */
bool ways_step(struct ways *w, vaddr_t *pc, struct insn *ret, const uint8_t **ret_bytes);

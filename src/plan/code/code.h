/*
 * Stage 5: every instruction of a module, and all references to code: branches, calls, addresses
 * that code computes, symbols, data. All later stages build on this result.
 */
#pragma once

#include "base/bitmap.h"
#include "plan/code/addresses.h"
#include "plan/code/functions.h"

struct func_code {       /* facts about a function's code */
    vaddr_t last;        /* its last instruction that is not padding */
    vaddr_t pad;         /* the first nop that a compiler left for patching; 0: none */
    uint32_t code_refs;  /* places in its middle that data refers to */
    bool called;         /* its start is called directly, or its address is taken */
    bool body_called;    /* its body is called directly, or the body's address is taken */
    bool taken;          /* the address of its start is taken */
    bool undecodable;    /* some bytes in it do not decode */
    bool entered_inside; /* without call-frame information: code outside of all functions branches
                            into its middle */
    bool branched_to; /* without call-frame information: a function with such information branches
                         or calls to it */
};

/* A return, an indirect jump, or a direct branch that leaves its range or leads to its start. */
struct transfer {
    vaddr_t from, to; /* of direct branches; of indirect jumps: dispatch.table */
    uint32_t func;
    uint8_t kind;     /* enum insn_kind; a jump to a thunk counts as indirect */
    uint8_t dispatch; /* enum dispatch_kind of indirect jumps */
    bool tails;       /* a conditional exit that is a jump, not a return */
    bool near;        /* short offsets from a place in its function lead it */
};

struct return_branch { /* a direct branch to a return; both are in described functions */
    vaddr_t to, from;
};

struct address_load { /* a pc-relative address computed in a function */
    vaddr_t address;
    uint32_t func;
};

struct switch_table { /* a jump table of FUNC; `how` is the jump's way to read it */
    uint32_t func;
    struct dispatch how;
};

struct control_site { /* where a function resumes after something else than a call or branch */
    vaddr_t addr;
    uint32_t func;
};

struct code {
    const struct module *module;
    const struct arch *arch;
    const struct texts *texts;
    const struct states *states;
    const struct sleds *sleds;
    const struct functions *functions;
    const struct func *funcs; /* of functions */
    size_t func_count;

    uint8_t *insns; /* by place: size >> size_shift << 4 | kind of the instruction that begins there
                       and ends in its segment; 0: none */
    /* Bitmaps by place. */
    uint8_t *refers;        /* an instruction with an insn.target */
    uint8_t *targets;       /* control may arrive from elsewhere than the instruction before */
    uint8_t *return_points; /* right behind calls: return addresses point here */
    uint8_t *kept;          /* must never be patched */

    struct func_code *by_func;
    ARRAY(struct transfer) transfers;          /* by address */
    ARRAY(struct return_branch) to_returns;    /* by `to`; these alone set nothing in `targets` */
    ARRAY(struct address_load) loads;          /* of addresses outside the function; by function */
    ARRAY(struct address_load) bases;          /* of addresses inside the function; by function */
    ARRAY(struct switch_table) switches;       /* tables whose form the code shows; by function */
    address_list flag_callees;                 /* functions that return flags to a caller */
    ARRAY(struct control_site) second_returns; /* behind calls that return twice; by address */
};

struct code code_read(const struct functions *functions);
void code_done(struct code *code);

/* A new bitmap by place, a copy of FROM (NULL: empty). */
uint8_t *place_bits_new(const struct texts *texts, const uint8_t *from);
void place_bits_free(const struct texts *texts, uint8_t *bits);

/* ---- instructions ---- */

static inline uint8_t insn_code(const struct code *code, const struct text *text, vaddr_t addr) {
    return code->insns[text_place(text, addr)];
}
static inline uint8_t insn_kind(const struct code *code, const struct text *text, vaddr_t addr) {
    return insn_code(code, text, addr) & 15;
}
static inline uint8_t insn_size(const struct code *code, const struct text *text, vaddr_t addr) {
    return (uint8_t)(insn_code(code, text, addr) >> 4 << text->size_shift);
}
/* ADDR is in TEXT. */
static inline bool insn_begins(const struct code *code, const struct text *text, vaddr_t addr) {
    return insn_code(code, text, addr);
}
/* The same for any ADDR. */
bool insn_at(const struct code *code, vaddr_t addr);
/* The address of the instruction that ends at ADDR; 0: none. */
vaddr_t insn_before(const struct code *code, const struct text *text, vaddr_t addr);
static inline const struct arch *code_arch(const struct code *code, const struct text *text,
                                           vaddr_t addr) {
    return state_arch(code->states, text, addr);
}
/* Decodes the instruction that begins at ADDR. */
static inline void insn_read(const struct code *code, const struct text *text, vaddr_t addr,
                             struct insn *ret) {
    code_arch(code, text, addr)
        ->decode(text_bytes(text, addr), insn_size(code, text, addr), addr, ret, NULL);
}
/* True if control never continues behind an instruction of KIND. */
static inline bool insn_ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP;
}
/* True if a stub can run on the taken side only of the conditional exit at ADDR. A branch that also
 * counts (INSN_LOOP) needs arch.split_exit for that. */
static inline bool insn_can_split(const struct code *code, const struct text *text, vaddr_t addr) {
    return insn_kind(code, text, addr) != INSN_LOOP || code_arch(code, text, addr)->split_exit;
}

/* ---- functions ---- */

static inline uint32_t code_func_at(const struct code *code, vaddr_t addr) {
    return func_at(code->functions, addr);
}
/* True if all of F is known to be code with known entries: F has call-frame information, or the
 * stage "states" found all code (32-bit Arm). */
static inline bool func_is_described(const struct code *code, const struct func *f) {
    return f->range || code->arch->other;
}

/* ---- transfers ---- */

/* True if T returns, conditionally or not. Conditional jumps through a register or memory to
 * another function count, too. */
static inline bool transfer_returns(const struct transfer *t) {
    return t->kind == INSN_RETURN || (t->kind == INSN_BRANCH && !t->to);
}
/* The index of the first transfer at or behind FROM. */
size_t transfer_at(const struct code *code, vaddr_t from);

/* ---- data ---- */

/* True if R is an entry of a table of patchable places. Such a reference leads nowhere. */
bool ref_is_hint(const struct code *code, const struct code_ref *r);
/* R leads into the middle of F. True if it may be a number that looks like an address by chance. */
bool ref_may_be_number(const struct code *code, const struct code_ref *r, const struct func *f);
/* Sets the bit of ADDR in BITMAP (by place), if an instruction may begin there by its alignment. */
void code_note(const struct code *code, uint8_t *bitmap, vaddr_t addr);
/* ADDR is in TEXT. True if an instruction may begin there by its alignment. */
static inline bool code_is_aligned(const struct code *code, const struct text *text, vaddr_t addr) {
    return addr % code_arch(code, text, addr)->insn_bytes == 0;
}

/* The address that ENTRY of a table leads to, if the table is read as HOW says. */
vaddr_t table_target(const struct dispatch *how, const uint8_t *entry);
/* How a jump of FUNC reads the table at TABLE, as its instructions show; NULL: unknown. */
const struct dispatch *table_switch(const struct code *code, uint32_t func, vaddr_t table);
/* The index in code.switches of the first of FUNC or of a later function. */
size_t table_first(const struct code *code, uint32_t func);
/* The index of the first of LOADS that is of FUNC or of a later function. */
size_t loads_first(const struct address_load *loads, size_t count, uint32_t func);
/* Starts of data whose address some code computes; tables end there at the latest. Sorted. */
address_list data_starts_find(const struct code *code);
/* The largest number of SIZE-byte entries in a table at TABLE: it ends at other data (STARTS). */
size_t data_room(const struct code *code, const address_list *starts, vaddr_t table, size_t size);

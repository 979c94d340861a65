/*
 * Stage 5: every instruction of a module, and what refers to it: branches, calls, addresses that
 * code computes, symbols, data. All higher stages work on this result.
 */
#pragma once

#include "base/bitmap.h"
#include "plan/code/addresses.h"
#include "plan/code/functions.h"

struct func_code {       /* what is known of a function's code */
    vaddr_t last;        /* its last instruction that is no padding */
    vaddr_t pad;         /* the first of the nops that a compiler left for patching; 0: none */
    uint32_t code_refs;  /* places in its middle that data refers to */
    bool called;         /* its start is called directly, or its address is taken */
    bool body_called;    /* the same of its body */
    bool taken;          /* the address of its start is taken */
    bool bad;            /* something in it is no instruction */
    bool entered_inside; /* without call-frame information: code of no known function branches into
                            its middle */
    bool branched_to;    /* without call-frame information: by described code, directly */
};

struct transfer { /* a return, an indirect jump, or a direct branch that leaves its range or leads
                     to its start */
    vaddr_t from, to; /* to: direct branches; indirect jumps: dispatch.table */
    uint32_t func;
    uint8_t kind;     /* enum insn_kind; a jump to a thunk counts as indirect */
    uint8_t dispatch; /* enum dispatch_kind of indirect jumps */
    bool tails;       /* an exit with a condition: a jump, no return */
};

struct return_branch { /* a direct branch of described code to a return, in such code, too */
    vaddr_t to, from;
};

struct address_load { /* a pc-relative address computed in a function */
    vaddr_t address;
    uint32_t func;
};

struct switch_table { /* of offsets, which a jump of FUNC reads as HOW tells */
    uint32_t func;
    struct dispatch how;
};

struct control_site { /* where a function goes on other than after a call or branch */
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

    uint8_t *insns; /* by place: size >> size_shift << 4 | kind of the instruction that begins
                       there, which lies within its segment; 0: none does */
    /* Bitmaps by place. */
    uint8_t *refers;        /* an instruction that has an insn.target */
    uint8_t *targets;       /* control may arrive other than from the instruction before */
    uint8_t *return_points; /* behind a call: return addresses point here */
    uint8_t *kept;          /* must never be patched */

    struct func_code *by_func;
    ARRAY(struct transfer) transfers;          /* by address */
    ARRAY(struct return_branch) to_returns;    /* by `to`; these alone make no targets */
    ARRAY(struct address_load) loads;          /* of other addresses than bases; by function */
    ARRAY(struct address_load) bases;          /* of the function's own code; by function */
    ARRAY(struct switch_table) switches;       /* whose form the code tells; by function */
    address_list flag_callees;                 /* whose callers read flags behind the call */
    ARRAY(struct control_site) second_returns; /* behind calls that return twice; by address */
};

struct code code_read(const struct functions *functions);
void code_done(struct code *code);

/* A new bitmap by place with what FROM has (NULL: nothing). Pages of it that are empty take no
 * memory. */
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
/* Does an instruction begin at ADDR, which is in TEXT? */
static inline bool insn_begins(const struct code *code, const struct text *text, vaddr_t addr) {
    return insn_code(code, text, addr);
}
/* The same anywhere. */
bool insn_at(const struct code *code, vaddr_t addr);
/* The instruction before ADDR, if one ends there; 0 if not. */
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
/* Does control not simply go on behind an instruction of KIND? */
static inline bool insn_ends_flow(uint8_t kind) {
    return kind == INSN_RETURN || kind == INSN_JUMP || kind == INSN_JUMP_INDIRECT ||
           kind == INSN_TRAP;
}
/* Can an exit at ADDR be told on its taken side only? A branch that counts cannot. */
static inline bool insn_can_part(const struct code *code, const struct text *text, vaddr_t addr) {
    return insn_kind(code, text, addr) != INSN_LOOP || code_arch(code, text, addr)->part_exit;
}

/* ---- functions ---- */

static inline uint32_t code_func_at(const struct code *code, vaddr_t addr) {
    return func_at(code->functions, addr);
}
/* Is it known that all of F is code, and entered as is told? By call-frame information, or where
 * all code was found by its states. */
static inline bool func_is_described(const struct code *code, const struct func *f) {
    return f->range || code->arch->other;
}

/* ---- transfers ---- */

/* Does T return, with a condition or without? What jumps through a register or memory on a
 * condition, to another function, is taken with it. */
static inline bool transfer_returns(const struct transfer *t) {
    return t->kind == INSN_RETURN || (t->kind == INSN_BRANCH && !t->to);
}
/* The number of the first transfer at or behind FROM. */
size_t transfer_at(const struct code *code, vaddr_t from);

/* ---- data ---- */

/* Is R an entry of a list that says where code can be patched? It leads nowhere. */
bool ref_is_hint(const struct code *code, const struct code_ref *r);
/* May R, which leads into the middle of F, be a number that is an address by chance? */
bool ref_may_be_number(const struct code *code, const struct code_ref *r, const struct func *f);
/* Notes in BITMAP, which is by place, that control may arrive at ADDR. */
void code_note(const struct code *code, uint8_t *bitmap, vaddr_t addr);
/* Can control arrive at ADDR, which is in TEXT, by its alignment? */
static inline bool code_is_aligned(const struct code *code, const struct text *text, vaddr_t addr) {
    return addr % code_arch(code, text, addr)->insn_bytes == 0;
}

/* Where ENTRY of a table leads to that is read as HOW tells. */
vaddr_t table_target(const struct dispatch *how, const uint8_t *entry);
/* How a jump of FUNC reads the table of offsets at TABLE, whose form its instructions tell; NULL:
 * none does. */
const struct dispatch *table_switch(const struct code *code, uint32_t func, vaddr_t table);
/* The number of the first of code.switches that is of FUNC or of a later function. */
size_t table_first(const struct code *code, uint32_t func);
/* The number of the first of LOADS that is of FUNC or of a later function. */
size_t loads_first(const struct address_load *loads, size_t count, uint32_t func);
/* Where data begins whose address some code computes: tables end there. Sorted. */
address_list data_starts_find(const struct code *code);
/* How many words of SIZE bytes there can be in a table at TABLE: up to other data, of STARTS. */
size_t data_room(const struct code *code, const address_list *starts, vaddr_t table, size_t size);

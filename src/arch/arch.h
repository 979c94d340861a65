/*
 * What the planner needs of an instruction set: pure functions over bytes,
 * chosen by ELF machine. Every backend is part of every build and runs on every
 * host. Addresses are those of one address space; whether link-time or
 * run-time is the caller's business.
 */
#pragma once

#include "arch/stub.h"
#include "base/types.h"

enum insn_kind {             /* fits four bits */
                 INSN_BAD,   /* not an instruction, or cut off */
                 INSN_OTHER, /* goes on with the next instruction */
                 INSN_NOP,
                 INSN_LANDING, /* must stay where it is, at the start of a function: indirect
                                * branches may demand it (endbr64), or it signs by its address */
                 INSN_RETURN,
                 INSN_JUMP,   /* direct */
                 INSN_BRANCH, /* direct, conditional */
                 INSN_LOOP,   /* the same, with more that it does: counts (x86-64), or ends T32's
                                 block, all of which on its condition has run where it is taken */
                 INSN_JUMP_INDIRECT, /* through a register or memory */
                 INSN_CALL,
                 INSN_CALL_INDIRECT,
                 INSN_BREAK,     /* breakpoint; compilers and linkers also pad with it */
                 INSN_TRAP,      /* never goes on */
                 INSN_SYSCALL,   /* enters the kernel, where threads block, restart and are born */
                 INSN_FIXED,     /* cannot run elsewhere, or not understood well enough */
                 INSN_EXCLUSIVE, /* of a pair that loads and stores exclusively: stays beside it */
};

enum insn_operand {
    OPERAND_PLAIN,
    OPERAND_PC_ADDRESS,
    OPERAND_PC_MEMORY,
    OPERAND_PC_PAGE, /* the page of an address that other instructions complete: arch.follow() */
    OPERAND_ABSOLUTE /* of arch.follow(): a number, which is an address if the module cannot move */
};
enum insn_exclusive { /* nothing may come between those of a pair */
                      EXCLUSIVE_NO,
                      EXCLUSIVE_BEGINS,
                      EXCLUSIVE_ENDS,
                      EXCLUSIVE_WITH_NEXT /* it and the instruction behind it */
};

struct insn {
    vaddr_t addr;
    vaddr_t target; /* of direct branches and calls; the address of a pc-relative operand; else 0 */
    uint8_t size;   /* arch.insn_bytes at most for INSN_BAD */
    uint8_t kind;   /* enum insn_kind */
    uint8_t operand;   /* enum insn_operand: whether its address is computed or accessed */
    uint8_t field;     /* offset of the displacement that encodes `target` */
    bool reads_flags;  /* is a conditional of the sort that follows a flag-returning call */
    bool writes_flags; /* may change flags (also when not sure) */
    uint8_t exclusive; /* enum insn_exclusive */
    uint8_t copies;    /* bytes at target that relocate() copies: they must be constant */
    uint8_t loads;     /* bytes at target of OPERAND_PC_MEMORY; 0: a word or less */
    bool turns;        /* target is code of the machine's other state (arch.other) */
    bool goes_on;      /* an INSN_JUMP_INDIRECT or a call, with a condition: where that does not
                          hold it goes on behind it */
    bool tails;        /* an exit with a condition that is a jump, and no return */
    bool stays;        /* cannot run elsewhere, though what it does is known; see relocate() */
};

/* An INSN_BRANCH without a target is an exit with a condition, through a register or memory: a
 * return, or seldom a tail call (`popeq {r4, pc}`, `bxne r3`). It is moved as it is; stack() tells
 * what it does where the condition holds. */
static inline bool insn_may_return(const struct insn *in) {
    return in->kind == INSN_BRANCH && !in->target;
}

/* What registers hold along a straight line, where one instruction alone does not make an address:
 * by number, those in `known`. */
enum { TRAIL_REGISTERS = 32 };
struct trail {
    vaddr_t at[TRAIL_REGISTERS];
    uint32_t known;
    const uint8_t *literal; /* the word at the target of the instruction that is to run, if that is
                               a constant of the program; else NULL */
};

/* Absolute numbers in an instruction that are wide enough to be addresses. */
struct insn_constants {
    uint64_t immediate[2], displacement;
    uint8_t immediate_count;
    bool has_displacement;
};

enum { FORMAT_BYTES = 128 };
enum { INSN_MAX_BYTES = 15, RELOCATED_MAX_BYTES = 32, RELOCATED_MAX_PARTS = 12 };

/* Of what decode() takes for one instruction: T32's IT and all that it governs. */
enum { UNIT_MAX_BYTES = 18 };

/* One instruction, written anew for another address: one or more instructions (parts). A thread
 * that is about to execute part i is in the state of one that is about to execute `resume` in the
 * original code, or, THROUGH, what the word at `resume` leads to. */
struct relocated {
    uint8_t bytes[RELOCATED_MAX_BYTES];
    uint8_t size, part_count;
    struct {
        uint8_t offset;
        bool through;
        uint8_t pushed; /* 1 + the register whose value is on top of the stack; 0: none's is */
        uint8_t it;     /* at `resume`, in a block: what is left of it, as ITSTATE; 0 elsewhere */
        vaddr_t resume;
    } parts[RELOCATED_MAX_PARTS];
    uint8_t address_at; /* where the run-time address of `address` is to stand; 0: nowhere */
    vaddr_t address;
    uint8_t copy_at, copy_bytes; /* where constants of the program are to stand; 0: nowhere */
    vaddr_t copy;                /* which */
};

/* An exit on a condition that is the last of several instructions (T32's blocks). */
struct exit_parts {
    struct relocated before; /* what comes before it; size 0: nothing does */
    struct insn last;        /* the exit, decoded as without a condition */
    uint8_t it;              /* there, as above */
};

/* What decides where an indirect jump goes, as far as the instructions before it tell. */
enum dispatch_kind {
    DISPATCH_ANY,       /* a code address from a register or memory */
    DISPATCH_VARIABLE,  /* a code address in a variable: never a switch */
    DISPATCH_OFFSETS,   /* an offset from a table, added to a base: a switch */
    DISPATCH_STACK,     /* to where another stack pointer, loaded before, goes on */
    DISPATCH_ADDRESSES, /* an address from a table: a switch or a table of functions */
    DISPATCH_COMPUTED,  /* so many bytes from a place: where that is code, between its instructions
                         */
    DISPATCH_CALL,      /* a call: its return address was made right before; goes on behind it */
};
struct dispatch {
    uint8_t kind;  /* enum dispatch_kind */
    vaddr_t table; /* where the table stands, or that place; 0 when not known */
    /* Of DISPATCH_OFFSETS, where entry_bytes tells how the table is read: a target is base + (entry
     * << shift). Of DISPATCH_COMPUTED a target is table + i * entry_bytes, for each i < count. */
    vaddr_t base; /* 0 when not known (the table is not, then), or where entries are addresses */
    uint8_t entry_bytes, shift;
    bool is_signed;
    uint32_t count; /* of entries; 0 when not known */
};
enum { DISPATCH_PAST = 16 };
struct code_bytes {
    const uint8_t *at;
    uint8_t size;
    vaddr_t addr;
};

enum sled_kind { SLED_ENTRY, SLED_EXIT, SLED_TAIL, SLED_EVENT }; /* XRay's */

struct flags_use {
    uint32_t tested, written; /* written: for certain */
};

/* A jump whose last bytes are those of the instructions behind it (a *pun*), so that it reaches
 * only some addresses: [low, low + span). */
struct pun {
    vaddr_t low;
    uint32_t span;
    uint8_t size; /* of the whole jump, borrowed bytes included */
};
enum { PUN_FORMS = 4, PUN_MAX_BYTES = 8 };

/* What an instruction does to the stack pointer (sp), to registers that may hold a copy of it and
 * to words in memory that may hold one. Registers go by their DWARF numbers. */
enum stack_op {
    STACK_NONE,  /* nothing but what `changed` tells */
    STACK_SET,   /* reg = base + displacement */
    STACK_ALIGN, /* reg = base, rounded down */
    STACK_LOAD,  /* reg = the word at base + displacement */
    STACK_STORE, /* `size` bytes at base + displacement = reg */
    STACK_PUSH,  /* a word, reg */
    STACK_POP,   /* a word, into reg */
    STACK_LEAVE, /* sp = reg, then a word is popped into reg */
    STACK_CALL,  /* sp is as before when it returns */
};
enum { STACK_REGISTERS = 32, STACK_NO_REGISTER = 255, STACK_MAX_EFFECTS = 17 };
struct stack_effect {
    uint8_t op, reg, base; /* reg: STACK_NO_REGISTER when it is something else */
    uint16_t size;
    int64_t displacement;
    uint32_t changed; /* registers that get an unknown value, as a bitmap; before all else */
};
static inline struct stack_effect stack_changed(uint32_t registers) {
    return (struct stack_effect){.op = STACK_NONE, .changed = registers};
}
static inline struct stack_effect stack_set(uint8_t reg, uint8_t base, int64_t displacement) {
    return (struct stack_effect){STACK_SET, reg, base, 0, displacement, 0};
}
static inline struct stack_effect stack_load(uint8_t reg, uint8_t base, int64_t displacement) {
    return (struct stack_effect){STACK_LOAD, reg, base, 0, displacement, 0};
}
static inline struct stack_effect stack_store(uint8_t reg, uint8_t base, int64_t displacement,
                                              uint32_t size) {
    return (struct stack_effect){STACK_STORE, reg, base, (uint16_t)size, displacement, 0};
}
/* Registers that may have another value behind COUNT effects. */
static inline uint32_t stack_written(const struct stack_effect *effects, size_t count) {
    uint32_t written = 0;
    for (const struct stack_effect *e = effects; e < effects + count; e++) {
        bool sets = e->op == STACK_SET || e->op == STACK_LOAD || e->op == STACK_ALIGN;
        written |= e->changed | (sets ? UINT32_C(1) << e->reg : 0);
    }
    return written;
}

struct arch {
    uint16_t machine;         /* EM_* */
    const char *name;         /* of the machine, as traces tell it */
    const struct arch *other; /* that of the machine's other state (A32, T32); NULL: it has one */
    uint8_t word_bytes;       /* of an address, and of what is pushed and popped */
    int16_t sp_register;      /* DWARF number of the stack pointer */
    int32_t entry_cfa;        /* CFA minus stack pointer at a function's first instruction */
    uint8_t insn_bytes;       /* of the shortest instruction; all are aligned to so many */
    uint8_t jump_bytes;       /* size of the ordinary patch */
    uint8_t hop_bytes;        /* of a short jump */
    int16_t hop_back, hop_on; /* how far that leads at most, from its start */
    uint8_t far_bytes;        /* of a far jump, at most; 0: there is none */
    uint8_t trap_bytes;       /* of a breakpoint instruction, and that */
    uint8_t trap[4];
    uint32_t all_flags;        /* every flag that stubs may change, as in struct flags_use */
    uint32_t changed_by_calls; /* registers, where a call may be a jump (DISPATCH_CALL) */

    /* Decodes the instruction at BYTES (ROOM > 0 bytes are readable), which stands at ADDR.
     * Returns false and an INSN_BAD of insn_bytes at most when there is none. CONSTANTS may be
     * NULL. */
    bool (*decode)(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                   struct insn_constants *constants);
    /* Runs INSN, whose bytes are BYTES, on TRAIL. Returns whether it makes an address so, accesses
     * the memory there, or is an INSN_JUMP_INDIRECT to it: INSN's copy *RET says so as pc-relative
     * operands do (with the bit that tells the state, where the program has put it in, and of
     * jumps always). NULL: those say all. */
    bool (*follow)(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                   struct insn *ret);
    /* Are BYTES (ROOM > 0) a return that takes nothing else off the stack? */
    bool (*is_return)(const uint8_t *bytes, size_t room);
    /* Is the instruction at BYTES one that the processor refuses to all programs but those with
     * access to devices? */
    bool (*is_barred)(const uint8_t *bytes, size_t size);
    /* Are the insn_bytes at BYTES (ROOM > 0) what linkers put between sections, where nothing comes
     * to them? They may be an instruction like any elsewhere. NULL: what they put there is padding
     * by itself. */
    bool (*is_filler)(const uint8_t *bytes, size_t room);
    /* Does the instruction at BYTES (SIZE: its own) write the register that lanes hang off? NULL:
     * what they hang off cannot be taken away so. */
    bool (*writes_lane)(const uint8_t *bytes, size_t size);
    /* Do BYTES, any piece of code, seem to ask the kernel to write it? NULL: no code does. */
    bool (*asks_for_lane)(const uint8_t *bytes, size_t size);
    /* Size of the landing instruction at BYTES, 0 when there is none. */
    size_t (*landing)(const uint8_t *bytes, size_t room);
    /* Size of XRay's unpatched sled of KIND at BYTES, 0 when there is none. Its first instruction
     * is the only one of it that is ever arrived at; that of an exit is a return. */
    size_t (*sled)(const uint8_t *bytes, size_t room, enum sled_kind kind);
    /* Writes the instruction INSN, whose bytes are BYTES, for address TO. Never for landing
     * instructions, INSN_FIXED, and what stays. A call (one that can_call() agrees to) becomes its
     * own return address, put where calls put it, and a jump. Where a branch does not reach, a far
     * jump is made of it if there are such. 0, or −ERANGE when TO is too far from what INSN refers
     * to. */
    int (*relocate)(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                    struct relocated *ret);
    /* Is INSN a call that can be written so? */
    bool (*can_call)(const struct insn *insn, const uint8_t *bytes);
    /* How many bytes relocate() writes for INSN, at most. */
    size_t (*relocated_bytes)(const struct insn *insn);
    /* Writes a jump at AT to TO, jump_bytes long. 0 or −ERANGE. */
    int (*jump)(uint8_t *out, vaddr_t at, vaddr_t to);
    /* Writes a jump at AT to TO, wherever that is. Its last word tells where: the run-time address,
     * unlike in all else here, so AT and TO are such, or AT is by whole words away from one.
     * Returns its size, which depends on AT only. NULL: no jump leads anywhere. */
    uint8_t (*far_jump)(uint8_t *out, vaddr_t at, taddr_t to);
    /* Writes a jump at AT to TO, hop_bytes long, for which TO must be near. 0 or −ERANGE. NULL:
     * there are no shorter jumps than the ordinary ones, nor far ones for which those make way. */
    int (*hop)(uint8_t *out, vaddr_t at, vaddr_t to);
    /* Where a pun at AT can lead to whose first OWN bytes (fewer than jump_bytes) are free to
     * choose and whose others are those of BYTES (PUN_MAX_BYTES from AT on). FORM < PUN_FORMS:
     * there are several. False: not that form. NULL: there are no puns. */
    bool (*pun)(const uint8_t *bytes, vaddr_t at, uint8_t own, uint8_t form, struct pun *ret);
    /* Its own bytes for target TO, which is one of those. */
    void (*pun_write)(uint8_t *out, vaddr_t at, uint8_t own, uint8_t form, vaddr_t to);
    /* Writes a branch that skips the SKIP bytes after it when INSN, a conditional branch without
     * side effects, would not be taken. Returns its size, 0 when that cannot be done. */
    size_t (*skip_unless)(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                          uint8_t out[RELOCATED_MAX_BYTES]);
    /* Takes INSN, an exit on a condition, apart; what comes before the exit is written for address
     * TO. 0 or −ERANGE. NULL: an instruction is one. */
    int (*part_exit)(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                     struct exit_parts *ret);
    /* How many bytes the return at BYTES takes off the stack, on a condition or not, so many words
     * of them BEHIND the return address; 0: that is in a register. −1: the stack pointer becomes
     * something else, or the address stands elsewhere. NULL: where calls have put it. */
    int (*return_pops)(const uint8_t *bytes, size_t size, uint8_t *ret_behind);
    /* Does the return at BYTES load the stack pointer as well as the pc, which stands LINK bytes
     * from BASE? NULL: there are none. */
    bool (*return_loads_sp)(const uint8_t *bytes, size_t size, uint8_t *ret_base,
                            int32_t *ret_link);
    /* PAST: the COUNT instructions before the jump, nearest first. JUMP may be a call of a function
     * that reads the table behind it: no more than how many entries it has is told then. */
    struct dispatch (*dispatch)(struct code_bytes jump, const struct code_bytes *past,
                                size_t count);
    /* What a function that is called NAME, or whose code stands at BYTES (ROOM are readable), reads
     * right behind its calls, to go on where that leads instead of there: DISPATCH_OFFSETS, the
     * form of its table only, of which entry_bytes is 0 where it is not known; DISPATCH_ANY: no
     * such thing. NULL: no such functions are known. */
    struct dispatch (*inline_table_named)(const char *name);
    struct dispatch (*inline_table_read)(const uint8_t *bytes, size_t room);
    /* Writes the instruction at BYTES as text. Returns its size; 1 when there is none. */
    size_t (*format)(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]);
    struct flags_use (*flags)(const uint8_t *bytes, size_t size);
    /* Does the instruction at BYTES load all flags from the stack, as code does that gives back
     * what it has interrupted? NULL: stubs change none, so nobody asks. */
    bool (*restores_flags)(const uint8_t *bytes, size_t size);
    /* Writes what the instruction does, in this order, to RET; returns how much that is (> 0). */
    size_t (*stack)(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
    /* The condition on which the instruction at BYTES does anything, > 0, of which bit 0 tells two
     * opposite ones apart; 0: it has none. stack_if() tells what it does where that holds. NULL:
     * conditions are not looked at, or only branches have them. */
    uint8_t (*condition)(const uint8_t *bytes, size_t size);
    size_t (*stack_if)(const uint8_t *bytes, size_t size,
                       struct stack_effect ret[STACK_MAX_EFFECTS]);

    size_t (*stub_emit)(uint8_t *out, const struct stub_spec *spec);
    /* What a thread has done whose pc is OFFSET bytes into a stub. False: no instruction begins
     * there. */
    bool (*stub_state)(uint8_t variant, enum overflow overflow, uint32_t offset,
                       struct stub_state *ret);
    uint32_t (*stub_size)(uint8_t variant, enum overflow overflow);
    /* The instruction of a stub that a full ring comes back to. */
    uint32_t (*stub_retry)(uint8_t variant);
    /* The site that the stub STUB, all of it, tells. */
    uint32_t (*stub_site)(const uint8_t *stub, uint8_t variant, enum overflow overflow);
    /* What each trampoline area begins with. Backends of other machines than the host's have none.
     */
    const uint8_t *agent;
    const size_t *agent_size;
    uint16_t agent_code; /* where in it the code begins, relative to which stubs find it */
    /* How far jumps lead, and what relocate() writes that is no far jump. */
    uint64_t reach;
};

/* NULL when the machine is not supported. */
const struct arch *arch_for_machine(uint16_t machine);
/* That of the processor that we run on. */
const struct arch *arch_host(void);

/* IN, which was decoded from BYTES, goes on with the line that TRAIL knows: if it makes an address
 * or accesses memory so, it says so from now on as pc-relative instructions do. */
static inline void arch_complete(const struct arch *arch, struct trail *trail, const uint8_t *bytes,
                                 struct insn *in) {
    struct insn whole;
    if (arch->follow && arch->follow(trail, in, bytes, &whole))
        *in = whole;
}

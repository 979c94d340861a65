/*
 * What the planner needs of an instruction set: pure functions over bytes, chosen by ELF machine.
 * Every backend is part of every build and runs on every host. All addresses of a call belong to
 * one address space; the caller decides whether they are link-time or run-time addresses.
 */
#pragma once

#include "arch/stub.h"
#include "base/types.h"

/* Fits four bits. */
enum insn_kind {
    INSN_BAD,   /* not an instruction, or cut off */
    INSN_OTHER, /* goes on with the next instruction */
    INSN_NOP,
    INSN_LANDING, /* must stay at the start of its function: indirect branches may demand it
                     (endbr64), or it signs by its own address */
    INSN_RETURN,
    INSN_JUMP,          /* direct */
    INSN_BRANCH,        /* direct, conditional */
    INSN_LOOP,          /* a direct conditional branch with an effect: it counts (x86-64), or ends a
                           T32 block. Where the latter is taken, the block's instructions with the
                           same condition have run */
    INSN_JUMP_INDIRECT, /* through a register or memory */
    INSN_CALL,
    INSN_CALL_INDIRECT,
    INSN_BREAK,     /* breakpoint; compilers and linkers also pad with it */
    INSN_TRAP,      /* never goes on */
    INSN_SYSCALL,   /* enters the kernel, where threads block, restart and are born */
    INSN_FIXED,     /* cannot run elsewhere, or not understood well enough */
    INSN_EXCLUSIVE, /* one of an exclusive load and store; both stay together */
};

enum insn_operand {
    OPERAND_PLAIN,
    OPERAND_PC_ADDRESS,
    OPERAND_PC_MEMORY,
    OPERAND_PC_PAGE, /* the page of an address that other instructions complete: arch.follow() */
    OPERAND_ABSOLUTE /* of arch.follow(): a number, which is an address if the module cannot move */
};
/* Nothing may be put between the two instructions of a pair. */
enum insn_exclusive {
    EXCLUSIVE_NO,
    EXCLUSIVE_BEGINS,
    EXCLUSIVE_ENDS,
    EXCLUSIVE_WITH_NEXT /* this instruction and the next are the pair */
};

struct insn {
    vaddr_t addr;
    vaddr_t target; /* of direct branches and calls; the address of a pc-relative operand; else 0 */
    uint8_t size;   /* arch.insn_bytes at most for INSN_BAD */
    uint8_t kind;   /* enum insn_kind */
    uint8_t operand;       /* enum insn_operand: whether `target` is computed or accessed */
    uint8_t field;         /* offset of the displacement that encodes `target` */
    uint8_t exclusive;     /* enum insn_exclusive */
    uint8_t copies;        /* bytes at target that relocate() copies: they must be constant */
    uint8_t loads;         /* bytes at target of OPERAND_PC_MEMORY; 0: a word or less */
    bool reads_flags : 1;  /* a conditional instruction as it follows calls that return flags */
    bool writes_flags : 1; /* may change flags (also when not sure) */
    bool turns : 1;        /* target is code of the machine's other state (arch.other) */
    bool goes_on : 1;      /* an INSN_JUMP_INDIRECT or a call with a condition: if the condition
                              does not hold, the next instruction follows */
    bool tails : 1;        /* an exit with a condition that is a jump, not a return */
    bool stays : 1;        /* cannot run elsewhere, though its effect is known; see relocate() */
};

/* An INSN_BRANCH without a target is an exit with a condition, through a register or memory: a
 * return, or seldom a tail call (`popeq {r4, pc}`, `bxne r3`). It is copied unchanged. stack()
 * returns its effects for the case that the condition holds. */
static inline bool insn_may_return(const struct insn *in) {
    return in->kind == INSN_BRANCH && !in->target;
}

/* Values of registers along straight code, for addresses that several instructions make. By
 * register number; only those in the bitmap `known` are valid. */
enum { TRAIL_REGISTERS = 32 };
struct trail {
    vaddr_t at[TRAIL_REGISTERS];
    uint32_t known;
    const uint8_t *literal; /* the word at the next instruction's target, if it is a constant of
                               the program; else NULL */
};

/* Absolute numbers in an instruction that are wide enough to be addresses. */
struct insn_constants {
    uint64_t immediate[2], displacement;
    uint8_t immediate_count;
    bool has_displacement;
};

enum { FORMAT_BYTES = 128 };
enum { INSN_MAX_BYTES = 15, RELOCATED_MAX_BYTES = 32, RELOCATED_MAX_PARTS = 12 };

/* The most bytes that decode() takes for one instruction: a T32 IT and its whole block. */
enum { UNIT_MAX_BYTES = 18 };

/* One instruction, written anew for another address as one or more instructions (parts). A thread
 * before part i stands, in terms of the original code, before the instruction at `resume`. THROUGH:
 * before the instruction that the word at `resume` points to. */
struct relocated {
    uint8_t bytes[RELOCATED_MAX_BYTES];
    uint8_t size, part_count;
    struct {
        uint8_t offset;
        bool through;
        uint8_t pushed; /* 1 + the register whose value is on top of the stack; 0: no register */
        uint8_t it;     /* ITSTATE at `resume`, if that is in a T32 block; else 0 */
        vaddr_t resume;
    } parts[RELOCATED_MAX_PARTS];
    uint8_t displacement_at; /* offset of a 32-bit displacement to a place outside of `bytes`, as in
                                struct arch; 0: none */
    uint8_t address_at; /* offset at which the run-time address of `address` belongs; 0: none */
    vaddr_t address;
    uint8_t copy_at, copy_bytes; /* offset at which constants of the program belong; 0: none */
    vaddr_t copy;                /* address of these constants */
};

/* An exit on a condition that is the last of several instructions (T32's blocks). */
struct exit_parts {
    struct relocated before; /* the instructions before the exit; size 0: none */
    struct insn last;        /* the exit, decoded as without a condition */
    uint8_t it;              /* ITSTATE at the exit */
};

/* How an indirect jump finds its target, as far as the instructions before it show. */
enum dispatch_kind {
    DISPATCH_ANY,       /* a code address from a register or memory */
    DISPATCH_VARIABLE,  /* a code address in a variable: never a switch */
    DISPATCH_OFFSETS,   /* an offset from a table, added to a base: a switch */
    DISPATCH_STACK,     /* the code that belongs to another stack pointer, loaded before */
    DISPATCH_ADDRESSES, /* an address from a table: a switch or a table of functions */
    DISPATCH_COMPUTED,  /* a computed distance from an address, into the middle of code */
    DISPATCH_CALL,      /* a call: the instruction before makes its return address, which is the
                           next instruction's */
};
struct dispatch {
    uint8_t kind;  /* enum dispatch_kind */
    vaddr_t table; /* address of the table, or the one that distances count from; 0: not known */
    /* Of DISPATCH_OFFSETS with known entry_bytes: a target is base + (entry << shift). Of
     * DISPATCH_COMPUTED: a target is table + i * entry_bytes, for each i < count. */
    vaddr_t base; /* 0: not known (nor is the table then), or entries are addresses */
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
    uint32_t tested, written; /* written: in any case */
};

/* A jump whose last bytes are bytes of the next instructions (a *pun*). It reaches only
 * [low, low + span). */
struct pun {
    vaddr_t low;
    uint32_t span;
    uint8_t size; /* of the whole jump, borrowed bytes included */
};
enum { PUN_FORMS = 4, PUN_MAX_BYTES = 8 };

/* An instruction's effect on the stack pointer (sp), and on registers and words in memory that may
 * hold a copy of it. Registers have DWARF numbers. */
enum stack_op {
    STACK_NONE,  /* none besides `changed` */
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
    uint8_t op, reg, base; /* reg: STACK_NO_REGISTER when the value is not a register's */
    uint16_t size;
    int64_t displacement;
    uint32_t changed; /* bitmap of registers that get an unknown value, before `op` is applied */
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

/* How an instruction moves values that may be arguments and results. A general register has its
 * DWARF number here, a vector register DATA_VECTOR + its number. */
enum { DATA_VECTOR = 32, DATA_REGISTERS = 64, DATA_NO_REGISTER = 255 };
enum data_op {
    DATA_OTHER,
    DATA_COPY,  /* reg = the lower `bytes` of `from`; what is above them is not told */
    DATA_BIT,   /* reg = its lowest bit */
    DATA_LOAD,  /* reg = `bytes` at base + displacement */
    DATA_STORE, /* `bytes` at base + displacement = reg; DATA_NO_REGISTER: something else */
};
struct data_use {
    uint8_t op, reg, from, base, bytes;
    bool writes_anywhere; /* it stores at a place that is not told here, and that is no push */
    int32_t displacement;
    uint64_t written;  /* registers that may get another value: a bit for each */
    uint64_t read;     /* registers whose value it surely needs: not those that it clears, or that
                          compilers name for want of another one */
    uint64_t may_read; /* registers of whose value something may go elsewhere */
    uint64_t replaced; /* registers that keep nothing of a result that is in them */
    uint64_t made;     /* registers that get a value, where nothing else is done, nor read from
                          memory */
    uint64_t cleared;  /* those that become 0, where nothing but flags changes besides */
};

/* What the bytes of an instruction do with an address. */
enum code_use { USE_CALL, USE_JUMP, USE_ADDRESS /* it computes it */ };

struct arch {
    uint16_t machine; /* EM_* */
    const char *name; /* of the machine, as it stands in traces */
    const struct arch
        *other;          /* of the machine's other state (A32, T32); NULL: there is one state */
    uint8_t word_bytes;  /* of an address, and of a push or pop */
    int16_t sp_register; /* DWARF number of the stack pointer */
    int32_t entry_cfa;   /* CFA minus stack pointer at a function's first instruction */
    uint8_t insn_bytes;  /* of the shortest instruction; all are aligned to this size */
    uint8_t jump_bytes;  /* size of the ordinary patch */
    uint8_t hop_bytes;   /* of a short jump */
    int16_t hop_back, hop_on; /* farthest targets of a short jump, relative to its start */
    uint8_t far_bytes;        /* of a far jump, at most; 0: there is none */
    uint8_t trap_bytes;       /* of the breakpoint instruction `trap` */
    uint8_t trap[4];
    uint32_t all_flags;        /* every flag that stubs may change, as in struct flags_use */
    uint32_t changed_by_calls; /* registers, where a call may be a jump (DISPATCH_CALL) */

    /* Decodes the instruction at BYTES (ROOM > 0 bytes are readable), which stands at ADDR.
     * Returns false and an INSN_BAD of insn_bytes at most when there is none. CONSTANTS may be
     * NULL. */
    bool (*decode)(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                   struct insn_constants *constants);
    /* Runs INSN, whose bytes are BYTES, on TRAIL. Returns true if INSN makes an address with values
     * of TRAIL, accesses memory at such an address, or is an INSN_JUMP_INDIRECT to one. *RET is
     * then a copy of INSN with this address as its operand, like a pc-relative one. The address has
     * the bit of the state if the program has set it, and always for jumps. NULL: no instructions
     * make addresses together. */
    bool (*follow)(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                   struct insn *ret);
    /* Is the instruction at BYTES (ROOM > 0) a return that pops only the return address? */
    bool (*is_return)(const uint8_t *bytes, size_t room);
    /* Does the processor refuse the instruction at BYTES to programs without access to devices? */
    bool (*is_barred)(const uint8_t *bytes, size_t size);
    /* Are the insn_bytes at BYTES (ROOM > 0) linkers' filler between sections? Elsewhere the same
     * bytes may be ordinary code. NULL: fillers are INSN_BREAK or INSN_NOP. */
    bool (*is_filler)(const uint8_t *bytes, size_t room);
    /* Does the instruction at BYTES (SIZE: its own) write the register by which stubs find lanes?
     * NULL: programs cannot take that register away. */
    bool (*writes_lane)(const uint8_t *bytes, size_t size);
    /* A fast filter for writes_lane(): false if no instruction within BYTES writes it. */
    bool (*may_write_lane)(const uint8_t *bytes, size_t size);
    /* Does the code BYTES seem to ask the kernel to write this register? NULL: no code does. */
    bool (*asks_for_lane)(const uint8_t *bytes, size_t size);
    /* Size of the landing instruction at BYTES, 0 when there is none. */
    size_t (*landing)(const uint8_t *bytes, size_t room);
    /* Size of XRay's unpatched sled of KIND at BYTES, 0 when there is none. Only its first
     * instruction is ever reached; in a sled of an exit that is a return. */
    size_t (*sled)(const uint8_t *bytes, size_t room, enum sled_kind kind);
    /* Writes the instruction INSN, whose bytes are BYTES, for address TO. Not for landing
     * instructions, INSN_FIXED, and those with `stays`. A call (for which can_call() holds) becomes
     * code that stores the original return address where calls store it, and a jump. A branch that
     * does not reach becomes a far jump, if the machine has one. 0, or −ERANGE when TO is too far
     * from INSN's target. */
    int (*relocate)(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                    struct relocated *ret);
    /* Is INSN a call that relocate() can write? */
    bool (*can_call)(const struct insn *insn, const uint8_t *bytes);
    /* How many bytes relocate() writes for INSN, at most. */
    size_t (*relocated_bytes)(const struct insn *insn);
    /* Writes a jump at AT to TO, jump_bytes long. 0 or −ERANGE. */
    int (*jump)(uint8_t *out, vaddr_t at, vaddr_t to);
    /* The offset in jump() of a 32-bit displacement, which ends the jump: a number added to it
     * moves the target by as much. All that relocate() writes depends on its address by such
     * numbers only, as far as it is not by the address modulo a page. 0: the machine's code is not
     * like that. */
    uint8_t displacement_at;
    /* Writes a jump at AT to any address TO. Its last word is the run-time address: unlike
     * elsewhere here, AT and TO are run-time addresses, or AT differs from one by whole words.
     * Returns its size, which depends on AT only. NULL: the machine has no such jump. */
    uint8_t (*far_jump)(uint8_t *out, vaddr_t at, taddr_t to);
    /* Writes a jump at AT to TO, hop_bytes long, for which TO must be near. 0 or −ERANGE. NULL:
     * no jump is shorter than the ordinary one, and there are no far jumps to replace by hops. */
    int (*hop)(uint8_t *out, vaddr_t at, vaddr_t to);
    /* The targets of a pun at AT. Its first OWN bytes (fewer than jump_bytes) are free to choose;
     * the others are those of BYTES (PUN_MAX_BYTES from AT on). FORM < PUN_FORMS selects one of
     * several encodings. False: this form is not possible. NULL: there are no puns. */
    bool (*pun)(const uint8_t *bytes, vaddr_t at, uint8_t own, uint8_t form, struct pun *ret);
    /* Writes a pun's OWN bytes for TO, one of these targets. */
    void (*pun_write)(uint8_t *out, vaddr_t at, uint8_t own, uint8_t form, vaddr_t to);
    /* Writes a branch that skips the SKIP bytes after it when INSN, a conditional branch without
     * side effects, would not be taken. Returns its size, 0 when that cannot be done. */
    size_t (*skip_unless)(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                          uint8_t out[RELOCATED_MAX_BYTES]);
    /* Splits INSN, an exit on a condition. The instructions before the exit are written for address
     * TO. 0 or −ERANGE. NULL: such an exit is a single instruction. */
    int (*split_exit)(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                      struct exit_parts *ret);
    /* How many bytes the return at BYTES pops, with or without a condition. *RET_BEHIND: how many
     * of these words stand above the return address. 0: the address is in a register. −1: the stack
     * pointer is set otherwise, or the address is not among these words. NULL: returns find the
     * address where calls store it. */
    int (*return_pops)(const uint8_t *bytes, size_t size, uint8_t *ret_behind);
    /* Does the return at BYTES load both the stack pointer and the pc? The pc is loaded from
     * register BASE + LINK. NULL: there are no such returns. */
    bool (*return_loads_sp)(const uint8_t *bytes, size_t size, uint8_t *ret_base,
                            int32_t *ret_link);
    /* PAST: the COUNT instructions before the jump, nearest first. JUMP may be a call of a function
     * that reads the table behind the call; only the table's number of entries is returned then. */
    struct dispatch (*dispatch)(struct code_bytes jump, const struct code_bytes *past,
                                size_t count);
    /* Does the function with this NAME, or this code (ROOM bytes are readable), jump by a table
     * that stands behind each of its calls? DISPATCH_OFFSETS: yes; only the form of the table is
     * set, and entry_bytes is 0 if not known. DISPATCH_ANY: no. NULL: no such functions are known.
     */
    struct dispatch (*inline_table_named)(const char *name);
    struct dispatch (*inline_table_read)(const uint8_t *bytes, size_t room);
    /* Writes the instruction at BYTES as text. Returns its size; 1 when there is none. */
    size_t (*format)(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]);
    struct flags_use (*flags)(const uint8_t *bytes, size_t size);
    /* Does the instruction at BYTES load all flags from the stack, as code does that restores an
     * interrupted state? NULL: stubs change no flags. */
    bool (*restores_flags)(const uint8_t *bytes, size_t size);
    /* Writes the instruction's effects, in their order, to RET. Returns their number (> 0). */
    size_t (*stack)(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
    /* The condition of the instruction at BYTES, > 0; opposite conditions differ in bit 0 only.
     * 0: it has none. stack_if() returns its effects where the condition holds. NULL: conditions
     * are not looked at, or only branches have them. */
    uint8_t (*condition)(const uint8_t *bytes, size_t size);
    size_t (*stack_if)(const uint8_t *bytes, size_t size,
                       struct stack_effect ret[STACK_MAX_EFFECTS]);

    /* Stores what the instruction at BYTES, which is no call, does. False: not known. NULL: no
     * instructions are known. */
    bool (*data)(const uint8_t *bytes, size_t size, struct data_use *ret);
    /* Calls SEE for each place within BYTES, which stand at ADDR, that holds the bytes of an
     * instruction with such a USE. An instruction need not begin there. Short jumps are left out.
     * NULL if `data` is. */
    void (*find_uses)(const uint8_t *bytes, size_t size, vaddr_t addr,
                      void (*see)(void *ctx, vaddr_t at, vaddr_t target, enum code_use use),
                      void *ctx);

    size_t (*stub_emit)(uint8_t *out, const struct stub_spec *spec);
    /* The state of a thread whose pc is OFFSET bytes into a stub. False: no instruction begins
     * there. */
    bool (*stub_state)(uint8_t variant, enum overflow overflow, uint32_t offset,
                       struct stub_state *ret);
    uint32_t (*stub_size)(uint8_t variant, enum overflow overflow);
    /* Offset of the instruction to which the agent returns after a full ring. */
    uint32_t (*stub_retry)(uint8_t variant);
    /* The site in the code of STUB, which is complete. */
    uint32_t (*stub_site)(const uint8_t *stub, uint8_t variant, enum overflow overflow);
    /* The offset in an event's stub of a 32-bit word, the site. NULL: it is in no such word. */
    uint32_t (*stub_site_at)(uint8_t variant, enum overflow overflow);
    /* All above is said of stubs without a capture's code. The offset of that code in such a stub;
     * and how long the code of C is, at most STUB_CAPTURE_BYTES; 0: a stub cannot have it. NULL:
     * stubs have no captures. */
    uint32_t (*stub_capture_at)(uint8_t variant, enum overflow overflow);
    uint32_t (*stub_capture_bytes)(const struct capture *c);
    /* STUB_* bits of a stub with the capture C. NULL: STUB_CAPTURE. */
    uint8_t (*stub_capture_variant)(const struct capture *c, enum overflow overflow);
    /* The same of the code in a STUB_JUDGE stub. PREDICATE: of JUDGED_ENTRY. */
    uint32_t (*stub_judge_bytes)(enum judged judged, const struct predicate *predicate);
    /* In the code of such a stub, the offset of a byte that decides whether the value is read whose
     * read is at offset AT; or that ends there. *RET_BYTE: it is not read. 0: there is none. NULL:
     * reads stay. */
    uint32_t (*stub_read_switch)(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);
    /* The first bytes of each trampoline area. Only the host's backend has them. */
    const uint8_t *agent;
    const size_t *agent_size;
    uint16_t agent_code; /* where in `agent` the code begins; stubs find it relative to this */
    /* The reach of jumps, and of the code of relocate() without far jumps. */
    uint64_t reach;
};

/* NULL when the machine is not supported. */
const struct arch *arch_for_machine(uint16_t machine);
/* The backend of the processor that spoor runs on. */
const struct arch *arch_host(void);

/* Runs IN, which was decoded from BYTES, on TRAIL. If IN makes an address or accesses memory with
 * values of TRAIL, it becomes like a pc-relative instruction. */
static inline void arch_complete(const struct arch *arch, struct trail *trail, const uint8_t *bytes,
                                 struct insn *in) {
    struct insn whole;
    if (arch->follow && arch->follow(trail, in, bytes, &whole))
        *in = whole;
}

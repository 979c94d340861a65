/* The T32 backend's parts, for src/arch/arm only. */
#pragma once

#include <string.h>

#include "arch/arm/arm.h"

enum { T32_HALF = 2, T32_PC = 4, T32_BLOCK_INSNS = 4 }; /* PC: added to reads of the pc */

static inline uint32_t t32_half(const uint8_t *bytes) {
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return half;
}

static inline uint8_t t32_reg(uint32_t word, unsigned low) {
    return (uint8_t)arm_bits(word, low, 4);
}
static inline uint8_t t32_low(uint32_t word, unsigned low) {
    return (uint8_t)arm_bits(word, low, 3);
}
/* Register fields of wide instructions. */
static inline uint8_t t32_rn(uint32_t word) { return t32_reg(word, 16); }
static inline uint8_t t32_rt(uint32_t word) { return t32_reg(word, 12); }
static inline uint8_t t32_rd(uint32_t word) { return t32_reg(word, 8); }
static inline uint8_t t32_rm(uint32_t word) { return t32_reg(word, 0); }
/* The first register of narrow `add`, `cmp` and `mov` that take all registers. */
static inline uint8_t t32_high(uint32_t word) {
    return (uint8_t)(arm_bits(word, 0, 3) | arm_bits(word, 7, 1) << 3);
}

/* ---- t32_forms.c: which instruction it is ---- */

enum t32_form {
    T32_PLAIN, /* does not use the pc, and is none of the forms below */
    T32_B_N,   /* direct branches, narrow … */
    T32_B_COND_N,
    T32_CBZ,
    T32_B_W, /* … and wide */
    T32_B_COND_W,
    T32_BL,
    T32_BLX,
    T32_BX,    /* and blx, by a register */
    T32_TABLE, /* tbb, tbh */
    T32_ADD_HIGH,
    T32_MOV_HIGH,
    T32_MOVS, /* of low registers */
    T32_MOV_8,
    T32_ADD_3,
    T32_ADD_8,
    T32_ADR_N,
    T32_ADD_SP, /* sets a low register to sp plus a constant */
    T32_ADJUST_SP,
    T32_IT,
    T32_PUSH, /* from here … */
    T32_POP,
    T32_LITERAL_N,
    T32_ACCESS_N,  /* loads and stores at a register plus a constant */
    T32_INDEXED_N, /* plus a register */
    T32_MULTIPLE_N,
    T32_MULTIPLE,
    T32_DUAL,
    T32_SINGLE, /* also by pc, and plus a register */
    T32_VECTOR_SINGLE,
    T32_VECTOR_MULTIPLE,
    T32_VECTOR_ELEMENTS, /* … to here: t32_accesses() */
    T32_ADD_IMMEDIATE,   /* add, sub; modified or plain constants; adr */
    T32_ADD_PLAIN,
    T32_CLEAR_BITS, /* bic with a constant */
    T32_SHIFTED,    /* data processing with a shifted register; mov */
    T32_TWICE,      /* one register is named by two fields */
    T32_MOVW,
    T32_MOVT,
    T32_TRANSFER, /* mrc and its kin: rt 15 is the flags */
    T32_PRIVILEGED,
};

/* Fields that name written registers. Loads and stores: see t32_access_of(). */
enum t32_writes {
    T32_NOTHING,
    T32_LOW_0,
    T32_LOW_8,
    T32_HIGH,
    T32_RD,
    T32_RT,
    T32_RT_RD,
    T32_RT_RN,
    T32_RN,
    T32_RM,
};

/* Flags of a row: those that are tested, and (T32_SETS) those that are written in any case. */
#define T32_SETS(which) ((which) << 4)
enum {
    T32_ALL = ARM_FLAGS,
    T32_NZ = ARM_N | ARM_Z,
    T32_BY_S = 256,    /* written only if bit 20 is set */
    T32_OUTSIDE = 512, /* written only outside of blocks */
};

/* Fields that must not name the pc (unpredictable). */
enum { T32_NO_N = 1, T32_NO_T = 2, T32_NO_D = 4, T32_NO_M = 8 };

struct t32_row {
    uint32_t mask, value;
    uint8_t kind;   /* enum insn_kind */
    uint8_t form;   /* enum t32_form */
    uint8_t writes; /* enum t32_writes */
    uint8_t no_pc;
    uint16_t flags;
};

struct t32 {
    uint32_t word; /* wide instructions: the first halfword is the upper half */
    uint8_t size;  /* 0: cut off */
    uint8_t kind;  /* enum insn_kind */
    const struct t32_row *row;
};
/* Classifies one instruction; of a block, only its IT. */
struct t32 t32_classify(const uint8_t *bytes, size_t room);

/* An IT instruction and the instructions that it makes conditional. */
struct t32_block {
    uint8_t count, size; /* number of instructions; bytes of the block, IT included */
    struct t32_member {
        uint8_t offset, condition;
        struct t32 in;
    } at[T32_BLOCK_INSNS];
};
/* False: no block, or cut off. */
bool t32_block_at(const uint8_t *bytes, size_t room, struct t32_block *ret);
static inline const struct t32_member *t32_last(const struct t32_block *block) {
    return &block->at[block->count - 1];
}

/* ---- t32_access.c: effects on registers and memory ---- */

enum { T32_MOST_REGISTERS = 16 };
/* An access of COUNT registers at base + offset. */
struct t32_access {
    uint8_t count, bytes; /* number of registers, bytes of each */
    uint8_t regs[T32_MOST_REGISTERS], base;
    bool load, general, indexed; /* general: regs are general registers; indexed: unknown offset */
    bool adds;                   /* write-back: base becomes base + step */
    bool unknown;                /* step is not known */
    int32_t offset, step;
};
static inline bool t32_accesses(const struct t32 *in) {
    return in->row->form >= T32_PUSH && in->row->form <= T32_VECTOR_ELEMENTS;
}
/* False: it does not access memory, and RET is unchanged. */
bool t32_access_of(const struct t32 *in, struct t32_access *ret);
/* Does it access memory relative to the pc? */
static inline bool t32_accesses_by_pc(const struct t32 *in) {
    return in->size == T32_HALF ? in->row->form == T32_LITERAL_N
                                : t32_accesses(in) && t32_rn(in->word) == ARM_PC;
}
/* Registers that it may write, as a bitmap. */
uint32_t t32_written(const struct t32 *in);
/* The same for an instruction with the access A. */
uint32_t t32_written_by(const struct t32 *in, const struct t32_access *a);
/* The value of a modified constant (Arm ARM, ThumbExpandImm). */
uint32_t t32_expand(uint32_t word);
/* The constant of `movw` and `movt`. */
uint32_t t32_immediate_16(uint32_t word);
/* The constant of all `add` and `sub`; negative for `sub`. */
int32_t t32_addend(const struct t32 *in);
/* Flags of one instruction, outside of blocks or in one. */
struct flags_use t32_flags_of(const struct t32 *in, bool in_block);

/* ---- the parts ---- */

/* The pc-relative operand of an instruction at ADDR: enum insn_operand, and its address. For direct
 * branches and calls: the target. */
struct t32_operand {
    uint8_t kind;
    vaddr_t target;
};
struct t32_operand t32_operand_of(const struct t32 *in, vaddr_t addr);
/* Can t32_relocate() write it, outside of blocks or in one? */
bool t32_can_move(const struct t32 *in, bool in_block);
/* How many bytes t32_relocate() writes for it. */
size_t t32_moved_bytes(const struct t32 *in);

bool t32_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                struct insn_constants *constants);
bool t32_follow(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                struct insn *ret);
size_t t32_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
/* See arch.condition() and arch.stack_if(). */
uint8_t t32_condition_number(const uint8_t *bytes, size_t size);
size_t t32_stack_if(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
struct dispatch t32_dispatch(struct code_bytes jump, const struct code_bytes *past, size_t count);
struct dispatch t32_inline_table_named(const char *name);
struct dispatch t32_inline_table_read(const uint8_t *bytes, size_t room);
int t32_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret);
bool t32_can_call(const struct insn *insn, const uint8_t *bytes);
size_t t32_relocated_bytes(const struct insn *insn);
size_t t32_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                       uint8_t out[RELOCATED_MAX_BYTES]);
int t32_split_exit(const struct insn *insn, const uint8_t *bytes, vaddr_t to,
                   struct exit_parts *ret);
int t32_return_pops(const uint8_t *bytes, size_t size, uint8_t *ret_behind);
int t32_jump(uint8_t *out, vaddr_t at, vaddr_t to);
uint8_t t32_far_jump(uint8_t *out, vaddr_t at, taddr_t to);
int t32_hop(uint8_t *out, vaddr_t at, vaddr_t to);
size_t t32_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]);

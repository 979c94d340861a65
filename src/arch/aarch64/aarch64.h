/* The parts of the AArch64 backend, for src/arch/aarch64 and machines.c only. All other code uses
 * arch.h. */
#pragma once

#include <string.h>

#include "arch/arch.h"

extern const struct arch arch_aarch64;

enum { A64_BYTES = 4, A64_PAGE = 4096, A64_LR = 30, A64_SP = 31, A64_ZERO = 31 };
/* NZCV, as in pstate's upper byte. */
enum { A64_V = 1, A64_C = 2, A64_Z = 4, A64_N = 8, A64_FLAGS = 15 };

static inline uint32_t a64_word(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* COUNT bits from bit LOW on, unsigned and signed. */
static inline uint32_t a64_bits(uint32_t word, unsigned low, unsigned count) {
    return word >> low & ((UINT32_C(1) << count) - 1);
}
static inline int64_t a64_signed(uint32_t word, unsigned low, unsigned count) {
    int64_t sign = INT64_C(1) << (count - 1);
    return ((int64_t)a64_bits(word, low, count) ^ sign) - sign;
}
static inline uint8_t a64_rd(uint32_t word) { return (uint8_t)a64_bits(word, 0, 5); }
static inline uint8_t a64_rn(uint32_t word) { return (uint8_t)a64_bits(word, 5, 5); }
static inline uint8_t a64_rm(uint32_t word) { return (uint8_t)a64_bits(word, 16, 5); }

/* ---- forms.c: which instruction it is ---- */

enum a64_form {
    A64_OTHER, /* does not use the pc, and is none of the forms below */
    A64_B,     /* this and the next two: branches to a label, by the width of its distance */
    A64_IMM19,
    A64_IMM14,
    A64_INDIRECT, /* br, blr and ret, plain and authenticated; rn is the register */
    A64_ADR,
    A64_ADRP,
    A64_LITERAL, /* load relative to the pc */
    A64_ADD_IMMEDIATE,
    A64_ADD_SHIFTED,
    A64_ADD_EXTENDED,
    A64_LOGICAL_IMMEDIATE,
    A64_LOGICAL_SHIFTED,
    A64_PAIR,     /* load or store; bits 23 and 24: write-back */
    A64_UNSCALED, /* load or store with a nine-bit offset; bits 10 and 11: write-back */
    A64_SCALED,   /* load or store with an unsigned offset */
    A64_INDEXED,  /* load or store with a register for offset */
    A64_MEMORY,   /* any other that accesses memory */
    A64_SYSTEM,
    A64_SIGNED,      /* signs or authenticates x30 with a register as modifier (FEAT_PAuth_LR) */
    A64_SIGNED_HERE, /* … with its own address, or a label near it */
};
enum { A64_PACM = (int)0xd50324ff };
struct a64_insn {
    uint8_t kind; /* enum insn_kind */
    uint8_t form; /* enum a64_form */
};
struct a64_insn a64_classify(uint32_t word);

/* The access of an A64_PAIR, A64_UNSCALED or A64_SCALED. */
struct a64_access {
    uint8_t count, bytes;     /* number of registers, bytes of each */
    uint8_t regs[2], base;    /* regs are general registers if `general` */
    bool load, general, wide; /* wide: all of an eight-byte register; a load not extended */
    bool before, after;       /* write-back before or after the access */
    int64_t offset;
};
struct a64_access a64_access_of(uint32_t word, enum a64_form form);

/* The constant of an A64_LOGICAL_IMMEDIATE. 0: a reserved encoding. */
uint64_t a64_bitmask(uint32_t word);

/* ---- the parts ---- */

bool a64_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                struct insn_constants *constants);
bool a64_follow(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                struct insn *ret);
bool a64_is_return(const uint8_t *bytes, size_t room);
bool a64_is_barred(const uint8_t *bytes, size_t size);
size_t a64_landing(const uint8_t *bytes, size_t room);
size_t a64_sled(const uint8_t *bytes, size_t room, enum sled_kind kind);
struct flags_use a64_flags(const uint8_t *bytes, size_t size);
size_t a64_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
struct dispatch a64_dispatch(struct code_bytes jump, const struct code_bytes *past, size_t count);
int a64_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret);
/* Makes WORD, a load relative to the pc, load TARGET when it stands at AT. 0 or −ERANGE. */
int a64_load_by_pc(uint32_t *word, vaddr_t at, vaddr_t target);
bool a64_can_call(const struct insn *insn, const uint8_t *bytes);
size_t a64_relocated_bytes(const struct insn *insn);
size_t a64_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                       uint8_t out[RELOCATED_MAX_BYTES]);
int a64_jump(uint8_t *out, vaddr_t at, vaddr_t to);
size_t a64_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]);

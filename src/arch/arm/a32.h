/* The A32 backend's parts, for src/arch/arm only. */
#pragma once

#include <string.h>

#include "arch/arm/arm.h"

enum { A32_BYTES = 4, A32_AHEAD = 8 }; /* AHEAD: reads of the pc give the address plus this */

static inline uint32_t a32_word(const uint8_t *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}
static inline uint8_t a32_rn(uint32_t word) { return (uint8_t)arm_bits(word, 16, 4); }
static inline uint8_t a32_rd(uint32_t word) { return (uint8_t)arm_bits(word, 12, 4); }
static inline uint8_t a32_rs(uint32_t word) { return (uint8_t)arm_bits(word, 8, 4); }
static inline uint8_t a32_rm(uint32_t word) { return (uint8_t)arm_bits(word, 0, 4); }
static inline uint32_t a32_condition(uint32_t word) { return word >> 28; }
static inline bool a32_is_conditional(uint32_t word) { return word >> 28 < ARM_ALWAYS; }

/* ---- a32_forms.c: which instruction it is ---- */

enum a32_form {
    A32_OTHER,  /* only writes the registers of `writes` */
    A32_BRANCH, /* b, bl and blx by a constant */
    A32_BX,     /* bx, blx; rm is the register */
    A32_DATA,   /* data processing of three forms: a constant, a register shifted by a constant or
                   by a register */
    A32_MOVW,
    A32_MOVT,
    A32_STATUS,    /* msr */
    A32_MULTIPLY,  /* sets flags if bit 20 is set */
    A32_SINGLE,    /* ldr, str, ldrb, strb */
    A32_EXTRA,     /* loads and stores of halfwords, signed bytes and doublewords */
    A32_SEVERAL,   /* ldm, stm */
    A32_EXCLUSIVE, /* ldrex and its kin, also swp, lda, stl; bit 20 is set in loads */
    A32_VECTOR,    /* vldr, vstr */
    A32_VECTORS,   /* vldm, vstm */
    A32_ELEMENTS,  /* vld1 to vld4, vst1 to vst4 */
    A32_PRELOAD,   /* a hint with an address */
    A32_VMRS,      /* writes the flags if rd is the pc */
};
/* Fields that name general registers. */
enum { A32_N = 1, A32_D = 2, A32_S = 4, A32_M = 8, A32_BARRED = 16 };

struct a32_insn {
    uint8_t kind;   /* enum insn_kind, if it does not write the pc */
    uint8_t form;   /* enum a32_form */
    uint8_t writes; /* fields whose registers it writes */
    bool barred;    /* refused to programs */
};
/* The kind is INSN_FIXED if a field that must not name the pc does. */
struct a32_insn a32_classify(uint32_t word);

/* ---- a32_operands.c: its fields ---- */

enum a32_opcode {
    A32_AND,
    A32_EOR,
    A32_SUB,
    A32_RSB,
    A32_ADD,
    A32_ADC,
    A32_SBC,
    A32_RSC,
    A32_TST,
    A32_TEQ,
    A32_CMP,
    A32_CMN,
    A32_ORR,
    A32_MOV,
    A32_BIC,
    A32_MVN
};
enum { A32_FORM_IMMEDIATE, A32_FORM_SHIFTED, A32_FORM_BY_REGISTER };

struct a32_data {
    uint8_t opcode, form; /* enum a32_opcode; A32_FORM_* */
    bool flags, has_result, has_first;
    uint8_t rd, rn, rm;
    uint32_t value;        /* of an immediate */
    uint8_t shift, amount; /* shift: 0 lsl, 1 lsr, 2 asr, 3 ror; amount: as encoded */
};
struct a32_data a32_data_of(uint32_t word);
/* rm is not shifted. */
static inline bool a32_is_plain(const struct a32_data *d) {
    return d->form == A32_FORM_SHIFTED && !d->shift && !d->amount;
}
/* The register that mov, or add rd, rn, #0 (by Go's compiler), copies; −1: another instruction. */
static inline int a32_moved(const struct a32_data *d) {
    bool adds = d->opcode == A32_ADD && d->form == A32_FORM_IMMEDIATE && !d->value;
    bool moves = d->opcode == A32_MOV && a32_is_plain(d);
    return d->flags ? -1 : moves ? d->rm : adds ? d->rn : -1;
}

struct a32_access {
    uint8_t base;
    bool load, before, after; /* write-back before or after the access */
    bool indexed, subtracts;  /* by rm, shifted; else by offset */
    bool whole;               /* the registers of `list` are loaded or stored as words */
    uint16_t list;            /* bitmap of general registers that are loaded or stored, in order */
    uint16_t bytes;           /* each; or of all if list is empty */
    int32_t offset;           /* of the first, from the base before */
    int32_t moves;            /* how far write-back moves the base */
};
/* Of A32_SINGLE, A32_EXTRA, A32_SEVERAL, A32_VECTOR, A32_VECTORS, A32_PRELOAD. */
struct a32_access a32_access_of(uint32_t word, enum a32_form form);
/* How many bytes it reads or writes. */
uint32_t a32_access_bytes(const struct a32_access *a);
/* Encodes VALUE as an immediate of data processing. False: not possible. */
bool a32_encode_immediate(uint32_t value, uint32_t *ret);

/* ---- the parts ---- */

bool a32_decode(const uint8_t *bytes, size_t room, vaddr_t addr, struct insn *ret,
                struct insn_constants *constants);
bool a32_follow(struct trail *trail, const struct insn *insn, const uint8_t *bytes,
                struct insn *ret);
bool a32_is_return(const uint8_t *bytes, size_t room);
bool a32_is_barred(const uint8_t *bytes, size_t size);
size_t a32_sled(const uint8_t *bytes, size_t room, enum sled_kind kind);
struct flags_use a32_flags(const uint8_t *bytes, size_t size);
/* The same for WORD, classified as IN. */
struct flags_use a32_flags_of(uint32_t word, const struct a32_insn *in);
/* Flags that it may change. */
uint32_t a32_flags_changed(uint32_t word, const struct a32_insn *in);
/* Its enum insn_kind, also if it writes the pc. */
uint8_t a32_kind_of(uint32_t word, const struct a32_insn *in);
size_t a32_stack(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
uint8_t a32_condition_number(const uint8_t *bytes, size_t size);
size_t a32_stack_if(const uint8_t *bytes, size_t size, struct stack_effect ret[STACK_MAX_EFFECTS]);
/* Registers that may have another value when the next instruction runs. */
uint32_t a32_written(uint32_t word);
struct dispatch a32_dispatch(struct code_bytes jump, const struct code_bytes *past, size_t count);
int a32_relocate(const struct insn *insn, const uint8_t *bytes, vaddr_t to, struct relocated *ret);
bool a32_can_call(const struct insn *insn, const uint8_t *bytes);
size_t a32_relocated_bytes(const struct insn *insn);
size_t a32_skip_unless(const struct insn *insn, const uint8_t *bytes, uint32_t skip,
                       uint8_t out[RELOCATED_MAX_BYTES]);
int a32_return_pops(const uint8_t *bytes, size_t size, uint8_t *ret_behind);
bool a32_return_loads_sp(const uint8_t *bytes, size_t size, uint8_t *ret_base, int32_t *ret_link);
int a32_jump(uint8_t *out, vaddr_t at, vaddr_t to);
uint8_t a32_far_jump(uint8_t *out, vaddr_t at, taddr_t to);
size_t a32_format(const uint8_t *bytes, size_t room, vaddr_t addr, char out[FORMAT_BYTES]);

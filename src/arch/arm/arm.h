/* Shared by the backends of A32 and T32, for src/arch/arm and machines.c only. All other code uses
 * arch.h. Addresses have no interworking bit: each state has its own struct arch. */
#pragma once

#include "arch/arch.h"

extern const struct arch arch_a32, arch_t32;

/* Returns 0: indirect branches may lead anywhere. (`bti` is of Armv8.1-M only, a nop here.) */
size_t arm_landing(const uint8_t *bytes, size_t room);

/* DWARF numbers (AADWARF32, 4.1). FP is the frame pointer of A32, FP_T32 that of T32. */
enum { ARM_FP_T32 = 7, ARM_FP = 11, ARM_IP = 12, ARM_SP = 13, ARM_LR = 14, ARM_PC = 15 };
/* NZCV, as in the upper four bits of APSR. */
enum { ARM_V = 1, ARM_C = 2, ARM_Z = 4, ARM_N = 8, ARM_FLAGS = 15 };
enum {
    ARM_EQ = 0,
    ARM_NE = 1,
    ARM_HS = 2,
    ARM_LO = 3,
    ARM_PL = 5,
    ARM_HI = 8,
    ARM_LS = 9,
    ARM_GE = 10,
    ARM_LT = 11
};
enum { ARM_ALWAYS = 14, ARM_UNCONDITIONAL = 15 };
enum { ARM_FIRST_CONDITION = 2 }; /* value of arch.condition() for eq */
enum { ARM_WORD = 4 };

/* Registers that calls may change: r0 to r3, ip and lr (AAPCS32, 6.1.1). */
enum { ARM_CHANGED_BY_CALLS = 0x500f };

/* COUNT bits from bit LOW on, unsigned and signed. */
static inline uint32_t arm_bits(uint32_t word, unsigned low, unsigned count) {
    return word >> low & ((UINT32_C(1) << count) - 1);
}
static inline int32_t arm_signed(uint32_t word, unsigned low, unsigned count) {
    int32_t sign = INT32_C(1) << (count - 1);
    return (int32_t)(arm_bits(word, low, count) ^ (uint32_t)sign) - sign;
}

/* Which flags CONDITION tests. */
static inline uint32_t arm_tested_by(uint32_t condition) {
    static const uint8_t by_pair[] = {
        ARM_Z, ARM_C, ARM_N, ARM_V, ARM_C | ARM_Z, ARM_N | ARM_V, ARM_N | ARM_V | ARM_Z, 0};
    return by_pair[condition >> 1 & 7];
}

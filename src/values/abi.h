/*
 * Where arguments and results are, by the calling convention alone: from a function's types. The
 * rules are those of the processors' documents, as GCC and Clang follow them:
 *
 *  - x86-64: System V psABI 1.0, "Parameter Passing"
 *  - AArch64: AAPCS64 (2023Q3), 6.8 and 6.9
 *  - Arm: AAPCS32 (2023Q3), 6.3 to 6.5, base standard and VFP variant
 *  - Go on x86-64: ABIInternal ("Function call argument and result passing"), since Go 1.17
 *
 * Places are those at a function's first instruction, and at its return instruction.
 */
#pragma once

#include "types/types.h"
#include "values/capture.h"

enum abi { ABI_X86_64, ABI_AARCH64, ABI_ARM_HARD, ABI_ARM_SOFT, ABI_GO_X86_64 };

enum { ABI_MOST_PIECES = 16 };

/* BYTES of an object, from byte AT on. */
struct abi_piece {
    enum capture_from from; /* FROM_REGISTER, _VECTOR, _STACK, _X87; in debugging information also
                               FROM_CONSTANT */
    uint8_t reg, part;
    int32_t stack_offset;
    uint32_t at, bytes;
    uint64_t constant;
};
struct abi_place {
    enum capture_missing missing; /* VALUE_THERE, or it is not known where the object is */
    bool indirect;                /* the one piece is not the object but an address */
    int32_t behind;               /* then: the object is that many bytes behind the address */
    uint8_t count;                /* 0: nothing is passed, as for an empty struct */
    struct abi_piece piece[ABI_MOST_PIECES];
};

/* The types that a convention sees. */
struct abi_call {
    struct types *types;
    const type_id *arguments;
    size_t count;
    type_id result; /* 0: none */
    bool varargs;
    bool splits_wide; /* x86-64: Clang before 18 treats an __int128 like two of 64 bits, of which
                         one may be in the last register and the other on the stack */
};
/* Of code by rustc on x86-64. How many of the first arguments of a function that is not optimised
 * have the places that abi_arguments() gives them; where its result is. False: that is not known.
 */
size_t abi_rust_known_arguments(const struct abi_call *call);
bool abi_rust_result(const struct abi_call *call, struct abi_place *ret);
/* Fills RET[call->count]. */
void abi_arguments(enum abi abi, const struct abi_call *call, struct abi_place *ret);
/* Go's results, whose types are CALL's arguments. */
void abi_go_results(const struct abi_call *call, struct abi_place *ret);
/* The place at a return. */
void abi_result(enum abi abi, const struct abi_call *call, struct abi_place *ret);

static inline unsigned abi_word(enum abi abi) {
    return abi == ABI_ARM_HARD || abi == ABI_ARM_SOFT ? 4 : 8;
}
/* How far the first argument on the stack is above the stack pointer at the entry. */
static inline unsigned abi_stack_arguments(enum abi abi) {
    return abi == ABI_X86_64 || abi == ABI_GO_X86_64 ? 8 : 0;
}

/* What the conventions share. Private to values/abi*.c. */
#pragma once

#include "values/abi.h"
#include "values/shape.h"

/* How far a call's arguments have been placed. */
struct abi_state {
    unsigned integers, vectors; /* registers that are taken */
    uint32_t vector_singles;    /* Arm: a bit for each single register that is taken */
    uint32_t stack;             /* bytes above the first argument on the stack */
    bool unsure;                /* a type has no known place: nothing behind it has one */
    bool half;                  /* Clang < 18: an __int128 has the last register and a word of the
                                   stack */
};

static inline void abi_add(struct abi_place *place, struct abi_piece piece) {
    if (place->count < ABI_MOST_PIECES)
        place->piece[place->count++] = piece;
    else
        place->missing = VALUE_UNTYPED;
}
static inline void abi_add_register(struct abi_place *place, unsigned reg, uint32_t at,
                                    uint32_t bytes) {
    abi_add(place, (struct abi_piece){
                       .from = FROM_REGISTER, .reg = (uint8_t)reg, .at = at, .bytes = bytes});
}
static inline void abi_add_vector(struct abi_place *place, unsigned reg, unsigned part, uint32_t at,
                                  uint32_t bytes) {
    abi_add(place, (struct abi_piece){.from = FROM_VECTOR,
                                      .reg = (uint8_t)reg,
                                      .part = (uint8_t)part,
                                      .at = at,
                                      .bytes = bytes});
}
static inline uint32_t abi_round(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

/* An object of BYTES on the stack, at the next multiple of ALIGN; each takes whole words. */
static inline void abi_add_stack(struct abi_state *s, struct abi_place *place, unsigned word,
                                 uint32_t align, uint32_t bytes) {
    s->stack = abi_round(s->stack, align);
    abi_add(place, (struct abi_piece){
                       .from = FROM_STACK, .stack_offset = (int32_t)s->stack, .bytes = bytes});
    s->stack += abi_round(bytes, word);
}

/* One file for each convention. stack_offset counts from the first argument. */
void abi_x86_64_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                         struct abi_place *ret);
void abi_x86_64_result(const struct abi_call *call, struct abi_place *ret);
void abi_aarch64_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                          struct abi_place *ret);
void abi_aarch64_result(const struct abi_call *call, struct abi_place *ret);
void abi_arm_soft_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                           struct abi_place *ret);
void abi_arm_hard_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                           struct abi_place *ret);
void abi_arm_soft_result(const struct abi_call *call, struct abi_place *ret);
void abi_arm_hard_result(const struct abi_call *call, struct abi_place *ret);
void abi_go_argument(struct abi_state *s, const struct abi_call *call, type_id type,
                     struct abi_place *ret);
/* True if the caller passes the address of the result as a first argument, in a register. */
bool abi_x86_64_result_is_passed(const struct abi_call *call);
bool abi_arm_result_is_passed(const struct abi_call *call, bool hard);

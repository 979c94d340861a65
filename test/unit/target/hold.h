/* A thread that keeps its values in all registers as long as hold_flag is 0 (in hold.S). */
#pragma once

#ifndef __ASSEMBLER__
#include <stdint.h>

struct held {
    uint64_t general[16]; /* rax rcx rdx rbx rsp rbp rsi rdi r8 … r15; rcx and rsp are not held */
    uint64_t flags;
    uint64_t components; /* of the extended state */
    uint8_t *extended;   /* as xsave writes it */
};

/* Sets all registers to IN, waits for hold_flag, and writes the registers then found to OUT. */
void hold_registers(const struct held *in, struct held *out);
extern uint32_t hold_flag;
/* The pc of a thread that waits with all registers set is between these. */
extern const uint8_t hold_loop[], hold_loop_end[];
/* One instruction that stops a traced thread. */
extern const uint8_t hold_trap[];

/* Waits as above with random registers; returns whether they are unchanged. WITH_TILES: also AMX
 * registers, if they exist. */
_Bool hold_all(_Bool with_tiles);
#endif

#define HELD_FLAGS 128
#define HELD_COMPONENTS 136
#define HELD_EXTENDED 144

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

/* Sets all registers to IN, waits for hold_flag, and writes what they are then to OUT. */
void hold_registers(const struct held *in, struct held *out);
extern uint32_t hold_flag;
/* Between these a thread waits with all registers set. */
extern const uint8_t hold_loop[], hold_loop_end[];
/* One instruction that stops a traced thread. */
extern const uint8_t hold_trap[];

/* Waits as above with made-up registers; returns whether they were the same afterwards. WITH_TILES:
 * with those of AMX, too, if there are any. */
_Bool hold_all(_Bool with_tiles);
#endif

#define HELD_FLAGS 128
#define HELD_COMPONENTS 136
#define HELD_EXTENDED 144

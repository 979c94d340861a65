/* Runs machine code with every register under control. Not for two threads at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RED_ZONE_BYTES = 128, VECTORS_BYTES = 512 };

struct cpu {
    uint64_t registers[16]; /* by number; rsp (4) is not used */
    uint64_t flags;
    uint64_t sp; /* written: the stack pointer at the start of the code */
    uint8_t red_zone[RED_ZONE_BYTES];
};
_Static_assert(offsetof(struct cpu, flags) == 128 && offsetof(struct cpu, sp) == 136 &&
                   offsetof(struct cpu, red_zone) == 144,
               "run_code.S");

void run_code(struct cpu *cpu, const void *code);
/* The same with the x87 and vector registers as VECTORS says, and writes back what they are. Their
 * layout is that of fxsave64 (Intel SDM, volume 1, table 10-2). */
struct vectors {
    _Alignas(16) uint16_t control;
    uint16_t status;
    uint8_t tags, more[19];
    uint32_t mxcsr, mask;
    uint8_t x87[8][16], xmm[16][16], rest[96];
};
_Static_assert(sizeof(struct vectors) == VECTORS_BYTES, "the layout of fxsave64");
void run_code_with_vectors(struct cpu *cpu, const void *code, struct vectors *vectors);

/* All registers are in use, and control words are not the usual ones. */
static inline void fill_vectors(struct vectors *ret) {
    enum { TOP = 3 << 11, NUMBER_BYTES = 10, EXPONENT = 0x40 };
    *ret = (struct vectors){.control = 0x27f, .status = TOP, .tags = 0xff, .mxcsr = 0x7f80};
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < NUMBER_BYTES; k++)
            ret->x87[i][k] = (uint8_t)(0x80 + 16 * i + k);
        ret->x87[i][NUMBER_BYTES - 1] = EXPONENT;
    }
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++)
            ret->xmm[i][k] = (uint8_t)(11 * i + 7 * k + 1);
}

static inline bool same_vectors(const struct vectors *a, const struct vectors *b) {
    return a->control == b->control && a->status == b->status && a->tags == b->tags &&
           a->mxcsr == b->mxcsr && memcmp(a->x87, b->x87, sizeof a->x87) == 0 &&
           memcmp(a->xmm, b->xmm, sizeof a->xmm) == 0;
}

/* The return address that CODE finds: behind the indirect call. */
static inline uint64_t run_code_returns_to(void) {
    enum { CALL_INDIRECT = 0xff, OF_MEMORY = 0x15, BYTES = 6 };
    const uint8_t *p = (const uint8_t *)(uintptr_t)run_code;
    while (p[0] != CALL_INDIRECT || p[1] != OF_MEMORY)
        p++;
    return (uint64_t)(uintptr_t)p + BYTES;
}

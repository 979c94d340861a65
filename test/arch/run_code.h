/* Runs machine code with every register under control. Not for two threads at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RED_ZONE_BYTES = 128 };

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

/* The return address that CODE finds: behind the indirect call. */
static inline uint64_t run_code_returns_to(void) {
    enum { CALL_INDIRECT = 0xff, OF_MEMORY = 0x15, BYTES = 6 };
    const uint8_t *p = (const uint8_t *)(uintptr_t)run_code;
    while (p[0] != CALL_INDIRECT || p[1] != OF_MEMORY)
        p++;
    return (uint64_t)(uintptr_t)p + BYTES;
}

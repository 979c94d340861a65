/* The processor state of a stopped thread (CPSR), for src/arch/arm on 32-bit Arm hosts only. Facts:
 * Arm ARM, B1.3.3 (of Armv7-A) and A7.7.38, "IT". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { PSR = 16, ORIGINAL_R0 = 17 }; /* indices in struct user_regs */

#define PSR_T32 UINT32_C(0x20)
#define PSR_JAZELLE UINT32_C(0x01000000)
#define PSR_BLOCK UINT32_C(0x0600fc00) /* ITSTATE, in two pieces */
#define PSR_NZCVQ UINT32_C(0xf8000000)
#define PSR_MODE UINT32_C(0x1f)
#define PSR_USER UINT32_C(0x10)

static inline bool psr_is_t32(uint32_t psr) { return psr & PSR_T32; }
static inline uint32_t psr_with_state(uint32_t psr, bool t32) {
    return (psr & ~(PSR_T32 | PSR_JAZELLE)) | (t32 ? PSR_T32 : 0);
}
static inline uint8_t psr_block(uint32_t psr) {
    return (uint8_t)((psr >> 8 & 0xfc) | (psr >> 25 & 3));
}
static inline uint32_t psr_with_block(uint32_t psr, uint8_t block) {
    return (psr & ~PSR_BLOCK) | (block & 0xfcu) << 8 | (block & 3u) << 25;
}
/* ITSTATE behind one more instruction (Arm ARM, ITAdvance). */
static inline uint8_t psr_advanced(uint8_t block) {
    return (uint8_t)(block & 7 ? (block & 0xe0) | (block << 1 & 0x1f) : 0);
}

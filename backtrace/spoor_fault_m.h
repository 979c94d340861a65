/* Part of spoor_fault.c: the M profile. Registers: Armv7-M Architecture Reference Manual B3.2,
 * Armv8-M D1.2; Armv6-M and Armv8-M Baseline have none that say why. */
#ifndef SPOOR_FAULT_M_H
#define SPOOR_FAULT_M_H

#include "spoor_fault_print.h"

/* Offsets are those of struct spoor_regs: 80 bytes. */
__asm__(".text\n"
        ".syntax unified\n"
        ".p2align 2\n"
        ".globl spoor_fault_handler\n"
        ".type spoor_fault_handler, %function\n"
        ".thumb_func\n"
        "spoor_fault_handler:\n"
        "    mov r0, sp\n"
        "    sub sp, #80\n"
        "    mov r1, sp\n"
        "    adds r1, #16\n"
        "    stmia r1!, {r4-r7}\n"
        "    mov r4, r8\n"
        "    mov r5, r9\n"
        "    mov r6, r10\n"
        "    mov r7, r11\n"
        "    stmia r1!, {r4-r7}\n"
        "    mov r2, r0\n"
        "    mov r3, lr\n"
        "    stmia r1!, {r0, r2, r3}\n" /* r12 is not known */
        "    stmia r1!, {r3}\n"
        "    movs r0, #0xaf\n"
        "    lsls r0, r0, #8\n"
        "    adds r0, #0xf0\n" /* r4 to r11, sp, pc */
        "    mrs r2, psp\n"
        "    movs r3, #0\n"
        "    movs r4, #0\n"
        "    stmia r1!, {r0, r2, r3, r4}\n"
        "    mov r0, sp\n"
        "    ldr r4, [r0, #16]\n" /* as it was: r5 to r7 are, too, behind the call */
        "    ldr r5, [r0, #20]\n"
        "    ldr r6, [r0, #24]\n"
        "    ldr r7, [r0, #28]\n"
        "    bl spoor_fault\n"
        "    ldr r0, [sp, #56]\n"
        "    add sp, #80\n"
        "    bx r0\n"
        ".size spoor_fault_handler, . - spoor_fault_handler\n");

struct named_bit {
    uint8_t bit;
    char name[11];
};

#if __ARM_ARCH_ISA_THUMB >= 2
#define HAVE_STATUS 1
static const struct named_bit configurable[] = {
    {0, "IACCVIOL"}, {1, "DACCVIOL"},    {3, "MUNSTKERR"},  {4, "MSTKERR"},   {5, "MLSPERR"},
    {8, "IBUSERR"},  {9, "PRECISERR"},   {10, "IMPRECISE"}, {11, "UNSTKERR"}, {12, "STKERR"},
    {13, "LSPERR"},  {16, "UNDEFINSTR"}, {17, "INVSTATE"},  {18, "INVPC"},    {19, "NOCP"},
    {20, "STKOF"},   {24, "UNALIGNED"},  {25, "DIVBYZERO"}};
static const struct named_bit hard[] = {{1, "VECTTBL"}, {30, "FORCED"}, {31, "DEBUGEVT"}};
#if defined(__ARM_FEATURE_CMSE) && __ARM_FEATURE_CMSE == 3
static const struct named_bit secure[] = {{0, "INVEP"},  {1, "INVIS"},   {2, "INVER"},
                                          {3, "AUVIOL"}, {4, "INVTRAN"}, {5, "LSPERR"},
                                          {7, "LSERR"}};
#endif
#endif

#ifdef HAVE_STATUS
static uint32_t peek(uint32_t at) { return *(volatile const uint32_t *)(uintptr_t)at; }

static void print_bits(void (*put)(char c), const struct named_bit *bits, size_t count,
                       uint32_t value) {
    for (size_t i = 0; i < count; i++)
        if (value >> bits[i].bit & 1) {
            put(' ');
            print(put, bits[i].name);
        }
}

/* CFSR, HFSR, MMFAR, BFAR, SFSR, SFAR. */
static void print_status(void (*put)(char c)) {
    uint32_t status = peek(0xe000ed28u);
    print_bits(put, hard, sizeof hard / sizeof *hard, peek(0xe000ed2cu));
    print_bits(put, configurable, sizeof configurable / sizeof *configurable, status);
    if (status & 0x80)
        print_register(put, " at", peek(0xe000ed34u));
    if (status & 0x8000)
        print_register(put, " at", peek(0xe000ed38u));
#if defined(__ARM_FEATURE_CMSE) && __ARM_FEATURE_CMSE == 3
    status = peek(0xe000ede4u);
    print_bits(put, secure, sizeof secure / sizeof *secure, status);
    if (status & 0x40)
        print_register(put, " at", peek(0xe000ede8u));
#endif
}
#endif

static void print_cause(void (*put)(char c)) {
    static const char names[6][12] = {"NMI",      "HardFault",  "MemManage",
                                      "BusFault", "UsageFault", "SecureFault"};
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    print(put, number >= 2 && number <= 7 ? names[number - 2] : "exception");
    put(':');
#ifdef HAVE_STATUS
    print_status(put);
#endif
}

static void print_state(void (*put)(char c)) { (void)put; } /* xPSR is not among the registers */

#endif

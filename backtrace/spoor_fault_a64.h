/* Part of spoor_fault.c: AArch64, at any exception level that has vectors. Registers: Armv8-A
 * Architecture Reference Manual, D1.10 and ESR_EL1. */
#ifndef SPOOR_FAULT_A64_H
#define SPOOR_FAULT_A64_H

#include "spoor_fault_a.h"

/* Offsets are those of struct spoor_regs: 296 bytes. The stack pointer of what was interrupted is
 * this one, or SP_EL0, or that of a lower level. */
__asm__(".pushsection .text\n"
        ".p2align 2\n"
        ".globl spoor_fault_handler\n"
        ".type spoor_fault_handler, %function\n"
        "spoor_fault_handler:\n"
        "    sub sp, sp, #304\n"
        "    stp x0, x1, [sp]\n"
        "    stp x2, x3, [sp, #16]\n"
        "    stp x4, x5, [sp, #32]\n"
        "    stp x6, x7, [sp, #48]\n"
        "    stp x8, x9, [sp, #64]\n"
        "    stp x10, x11, [sp, #80]\n"
        "    stp x12, x13, [sp, #96]\n"
        "    stp x14, x15, [sp, #112]\n"
        "    stp x16, x17, [sp, #128]\n"
        "    stp x18, x19, [sp, #144]\n"
        "    stp x20, x21, [sp, #160]\n"
        "    stp x22, x23, [sp, #176]\n"
        "    stp x24, x25, [sp, #192]\n"
        "    stp x26, x27, [sp, #208]\n"
        "    stp x28, x29, [sp, #224]\n"
        "    mrs x19, currentel\n"
        "    lsr x19, x19, #2\n"
        "    cmp x19, #2\n"
        "    b.hi 3f\n"
        "    b.eq 2f\n"
        "    mrs x1, elr_el1\n"
        "    mrs x2, spsr_el1\n"
        "    b 4f\n"
        "2:  mrs x1, elr_el2\n"
        "    mrs x2, spsr_el2\n"
        "    b 4f\n"
        "3:  mrs x1, elr_el3\n"
        "    mrs x2, spsr_el3\n"
        "4:  add x3, sp, #304\n"
        "    ubfx x4, x2, #2, #2\n"
        "    tbz x2, #0, 6f\n"
        "    cmp x4, x19\n"
        "    b.eq 7f\n"
        "    cmp x4, #2\n"
        "    b.eq 5f\n"
        "    mrs x3, sp_el1\n"
        "    b 7f\n"
        "5:  mrs x3, sp_el2\n"
        "    b 7f\n"
        "6:  mrs x3, sp_el0\n"
        "7:  stp x30, x3, [sp, #240]\n"
        "    mov x4, #0x1ffffffff\n"
        "    stp x1, x4, [sp, #256]\n"
        "    stp xzr, xzr, [sp, #272]\n"
        "    str xzr, [sp, #288]\n"
        "    mov x0, sp\n"
        "    bl spoor_fault\n"
        "    ldr x1, [sp, #256]\n"
        "    cmp x19, #2\n"
        "    b.hi 3f\n"
        "    b.eq 2f\n"
        "    msr elr_el1, x1\n"
        "    b 4f\n"
        "2:  msr elr_el2, x1\n"
        "    b 4f\n"
        "3:  msr elr_el3, x1\n"
        "4:  ldp x0, x1, [sp]\n"
        "    ldp x2, x3, [sp, #16]\n"
        "    ldp x4, x5, [sp, #32]\n"
        "    ldp x6, x7, [sp, #48]\n"
        "    ldp x8, x9, [sp, #64]\n"
        "    ldp x10, x11, [sp, #80]\n"
        "    ldp x12, x13, [sp, #96]\n"
        "    ldp x14, x15, [sp, #112]\n"
        "    ldp x16, x17, [sp, #128]\n"
        "    ldp x18, x19, [sp, #144]\n"
        "    ldp x20, x21, [sp, #160]\n"
        "    ldp x22, x23, [sp, #176]\n"
        "    ldp x24, x25, [sp, #192]\n"
        "    ldp x26, x27, [sp, #208]\n"
        "    ldp x28, x29, [sp, #224]\n"
        "    ldr x30, [sp, #240]\n"
        "    add sp, sp, #304\n"
        "    eret\n"
        ".size spoor_fault_handler, . - spoor_fault_handler\n"
        ".popsection\n");

/* Of the level that has taken the exception. */
struct exception {
    uint64_t level, syndrome, at, state;
};
#define READ_EXCEPTION(e, el)                                                                      \
    __asm__ volatile("mrs %0, esr_" el "\n"                                                        \
                     "mrs %1, far_" el "\n"                                                        \
                     "mrs %2, spsr_" el                                                            \
                     : "=r"((e).syndrome), "=r"((e).at), "=r"((e).state))

static struct exception exception(void) {
    struct exception e;
    __asm__ volatile("mrs %0, currentel" : "=r"(e.level));
    e.level >>= 2;
    if (e.level == 1)
        READ_EXCEPTION(e, "el1");
    else if (e.level == 2)
        READ_EXCEPTION(e, "el2");
    else
        READ_EXCEPTION(e, "el3");
    return e;
}

/* Exception classes. Those of aborts have their last bit when they come from this level. */
enum { CLASS_INSTRUCTION = 0x20, CLASS_PC = 0x22, CLASS_DATA = 0x24, CLASS_WATCHPOINT = 0x34 };

static void print_class(void (*put)(char c), unsigned class) {
    static const struct named_status names[] = {{0x00, "undefined instruction"},
                                                {0x07, "floating point is off"},
                                                {0x0d, "branch target"},
                                                {0x0e, "illegal state"},
                                                {0x15, "SVC"},
                                                {0x16, "HVC"},
                                                {0x17, "SMC"},
                                                {0x18, "system register"},
                                                {0x19, "SVE is off"},
                                                {0x1c, "pointer authentication"},
                                                {0x1d, "SME is off"},
                                                {0x20, "instruction abort"},
                                                {0x21, "instruction abort"},
                                                {0x22, "unaligned pc"},
                                                {0x24, "data abort"},
                                                {0x25, "data abort"},
                                                {0x26, "unaligned sp"},
                                                {0x27, "memory copy"},
                                                {0x2c, "floating point"},
                                                {0x2d, "guarded stack"},
                                                {0x2f, "SError"},
                                                {0x30, "hardware breakpoint"},
                                                {0x31, "hardware breakpoint"},
                                                {0x32, "software step"},
                                                {0x33, "software step"},
                                                {0x34, "watchpoint"},
                                                {0x35, "watchpoint"},
                                                {0x3c, "BRK"}};
    print_named(put, names, sizeof names / sizeof *names, class);
    put(':');
}

static void print_cause(void (*put)(char c)) {
    struct exception e = exception();
    unsigned class = e.syndrome >> 26 & 0x3f, from = class & ~1u;
    unsigned is_abort = from == CLASS_INSTRUCTION || from == CLASS_DATA;
    put('E');
    put('L');
    put((char)('0' + e.level));
    print_class(put, class);
    if (is_abort)
        print_long_status(put, e.syndrome & 0x3f);
    if ((is_abort && e.syndrome & 0x400) || /* FnV: the address is not known */
        !(is_abort || from == CLASS_PC || from == CLASS_WATCHPOINT))
        return;
    print_register(put,
                   from != CLASS_DATA  ? " at"
                   : e.syndrome & 0x40 ? " write at"
                                       : " read at",
                   e.at);
}

static void print_state(void (*put)(char c)) {
    print_register(put, "psr", exception().state);
    put('\n');
}

#endif

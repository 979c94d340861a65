/* Part of spoor_fault.c: A32 and T32 of the A and R profiles, with the vectors that all have had
 * since Armv4. Registers: Armv7-A and -R Architecture Reference Manual, B1.8, B3.13, B4.1.52. */
#ifndef SPOOR_FAULT_A32_H
#define SPOOR_FAULT_A32_H

#include "spoor_fault_a.h"

/*
 * Each is entered in A32 state and in the exception's own mode. It saves r0 to r12, and brings lr
 * to the instruction that has faulted. It leaves a status in one of the two registers only: so an
 * abort of data is told from one of an instruction. Offsets are those of struct spoor_regs: 80
 * bytes.
 */
#define ENTRY(name, rest)                                                                          \
    ".globl " name "\n"                                                                            \
    ".type " name ", %function\n" name ":\n"                                                       \
    "    sub sp, sp, #80\n"                                                                        \
    "    stmia sp, {r0-r12}\n"                                                                     \
    "    mrs r0, spsr\n"                                                                           \
    "    mov r1, #0\n" rest ".size " name ", . - " name "\n"

__asm__(".pushsection .text\n"
        ".syntax unified\n"
        ".p2align 2\n"
        ".arm\n" /* clang-format off */
        ENTRY("spoor_undefined_handler",
        "    tst r0, #0x20\n"
        "    subeq lr, lr, #4\n"
        "    subne lr, lr, #2\n"
        "    b 1f\n")
        ENTRY("spoor_prefetch_abort_handler",
        "    mcr p15, 0, r1, c5, c0, 0\n"
        "    sub lr, lr, #4\n"
        "    b 1f\n")
        ENTRY("spoor_data_abort_handler",
        "    mcr p15, 0, r1, c5, c0, 1\n"
        "    sub lr, lr, #8\n") /* clang-format on */
        "1:  tst r0, #0x20\n"
        "    orrne lr, lr, #1\n"
        "    mov r8, r0\n"
        "    mrs r2, cpsr\n"
        "    and r3, r0, #0x1f\n"
        "    cmp r3, #0x10\n"
        "    moveq r3, #0x1f\n" /* programs have the registers of system mode */
        "    bic r4, r2, #0x1f\n"
        "    orr r4, r4, r3\n"
        "    cmp r4, r2\n" /* an exception in its own mode: that lr is lost */
        "    addeq r5, sp, #80\n"
        "    moveq r6, #0\n"
        "    mov r7, #0xff\n"
        "    orr r7, r7, #0xbf00\n"
        "    beq 2f\n"
        "    msr cpsr_c, r4\n"
        "    mov r5, sp\n"
        "    mov r6, lr\n"
        "    msr cpsr_c, r2\n"
        "    orr r7, r7, #0x4000\n"
        "2:  str r5, [sp, #52]\n"
        "    str r6, [sp, #56]\n"
        "    str lr, [sp, #60]\n"
        "    str r7, [sp, #64]\n"
        "    str r1, [sp, #68]\n"
        "    str r1, [sp, #72]\n"
        "    str r1, [sp, #76]\n"
        "    mov r0, sp\n"
        "    bl spoor_fault\n"
        "    ldr lr, [sp, #60]\n"
        "    bic r8, r8, #0x20\n"
        "    tst lr, #1\n"
        "    orrne r8, r8, #0x20\n"
        "    bic lr, lr, #1\n"
        "    msr spsr_cxsf, r8\n"
        "    ldmia sp, {r0-r12}\n"
        "    add sp, sp, #80\n"
        "    movs pc, lr\n"
        ".globl spoor_exception_read\n" /* A32, as Armv6's Thumb cannot */
        ".hidden spoor_exception_read\n"
        ".type spoor_exception_read, %function\n"
        "spoor_exception_read:\n"
        "    mrs r1, cpsr\n"
        "    mrs r2, spsr\n"
        "    mrc p15, 0, r3, c5, c0, 0\n"
        "    mrc p15, 0, r12, c5, c0, 1\n"
        "    stmia r0!, {r1, r2, r3, r12}\n"
        "    mrc p15, 0, r1, c6, c0, 0\n"
        "    mrc p15, 0, r2, c6, c0, 2\n"
        "    stmia r0, {r1, r2}\n"
        "    bx lr\n"
        ".size spoor_exception_read, . - spoor_exception_read\n"
        ".popsection\n");

/* CPSR, SPSR; DFSR, IFSR, DFAR, IFAR. */
struct exception {
    uint32_t mode, state, data, instruction, data_at, instruction_at;
};
void spoor_exception_read(struct exception *ret);

static void print_status(void (*put)(char c), uint32_t status) {
    static const struct named_status names[] = {
        {0, "background"},        {1, "alignment"},
        {2, "debug event"},       {3, "access flag of section"},
        {4, "cache maintenance"}, {5, "translation of section"},
        {6, "access flag"},       {7, "translation"},
        {8, "external abort"},    {9, "domain of section"},
        {11, "domain"},           {12, "external abort of walk"},
        {13, "permission"},       {14, "external abort of walk"},
        {15, "permission"},       {16, "TLB conflict"},
        {22, "late abort"},       {24, "late parity"},
        {25, "parity"},           {28, "parity of walk"},
        {30, "parity of walk"}};
    if (status & 0x200)
        print_long_status(put, status & 0x3f);
    else
        print_named(put, names, sizeof names / sizeof *names, (status & 15) | (status >> 6 & 0x10));
}

static void print_cause(void (*put)(char c)) {
    struct exception e;
    spoor_exception_read(&e);
    if ((e.mode & 0x1f) == 0x1b) {
        print(put, "undefined instruction:");
    } else if (e.data) {
        print(put, "data abort:");
        print_status(put, e.data);
        print_register(put, e.data & 0x800 ? " write at" : " read at", e.data_at);
    } else {
        print(put, "prefetch abort:");
        print_status(put, e.instruction);
        print_register(put, " at", e.instruction_at);
    }
}

static void print_state(void (*put)(char c)) {
    struct exception e;
    spoor_exception_read(&e);
    print_register(put, "psr", e.state);
    put('\n');
}

#endif

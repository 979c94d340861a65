/*
 * Functions with a switch in their code: a word that is a nop, or a jump to code with another
 * result. The program writes it itself. OFF: NAME(x) returns x + 1, ON: x + 2.
 */
#pragma once

#include <stdint.h>
#include <sys/mman.h>

#include "self_check.h"

#if defined __x86_64__
typedef uint16_t code_word;
enum { OFF = 0x9066, ON = 0x04eb }; /* nop; jmp over the next four bytes */
#define SWITCH(name, before)                                                                       \
    __asm__(".pushsection .text.switches, \"ax\", %progbits\n .balign 64\n .globl " #name          \
            ", " #name "_switch"                                                                   \
            "\n .type " #name ", %function\n" #name ":\n .cfi_startproc\n" before #name            \
            "_switch:\n .2byte 0x9066\n lea 1(%rdi), %eax\n ret\n lea 2(%rdi), %eax\n ret\n"       \
            " .cfi_endproc\n .size " #name ", .-" #name "\n .popsection\n");                       \
    extern int name(int);                                                                          \
    extern code_word name##_switch;
#define BEFORE "mov %edi, %eax\n mov %edi, %ecx\n mov %ecx, %eax\n mov %eax, %edx\n"
#elif defined __aarch64__
typedef uint32_t code_word;
enum { OFF = 0xd503201f, ON = 0x14000003 };
#define SWITCH(name, before)                                                                       \
    __asm__(".pushsection .text.switches, \"ax\", %progbits\n .balign 64\n .globl " #name          \
            ", " #name "_switch"                                                                   \
            "\n .type " #name ", %function\n" #name ":\n .cfi_startproc\n" before #name            \
            "_switch:\n nop\n add w0, w0, #1\n ret\n add w0, w0, #2\n ret\n"                       \
            " .cfi_endproc\n .size " #name ", .-" #name "\n .popsection\n");                       \
    extern int name(int);                                                                          \
    extern code_word name##_switch;
#define BEFORE "mov w1, w0\n mov w2, w1\n mov w3, w2\n"
#else
typedef uint32_t code_word;
enum { OFF = 0xe320f000, ON = 0xea000003 }; /* spoor finds code that a branch leads to */
#define SWITCH(name, before)                                                                       \
    __asm__(".pushsection .text.switches, \"ax\", %progbits\n .arm\n .balign 64\n .globl " #name   \
            ", " #name "_switch"                                                                   \
            "\n .type " #name ", %function\n" #name ":\n .fnstart\n" before #name                  \
            "_switch:\n nop\n cmp r0, r0\n bne 1f\n add r0, r0, #1\n bx lr\n"                      \
            "1: add r0, r0, #2\n bx lr\n"                                                          \
            " .fnend\n .size " #name ", .-" #name "\n .popsection\n");                             \
    extern int name(int);                                                                          \
    extern code_word name##_switch;
#define BEFORE "mov r1, r0\n mov r2, r1\n mov r3, r2\n"
#endif

/* Before the first switch and behind the last: they have pages of their own, whatever the size of a
 * page. */
#define OWN_PAGES                                                                                  \
    __asm__(".pushsection .text.switches, \"ax\", %progbits\n .balign 65536\n .popsection\n");

static uintptr_t page_of(const void *at) {
    return (uintptr_t)at & -(uintptr_t)sysconf(_SC_PAGESIZE);
}

/* The word changes at once, whatever runs there. */
static void put(code_word *at, code_word from, code_word to) {
    check(__atomic_compare_exchange_n(at, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST),
          "the old bytes of a switch are not the program's");
    __builtin___clear_cache((char *)at, (char *)(at + 1));
}

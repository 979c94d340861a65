/*
 * A program that keeps a value of its own in the gs base, set by HOW:
 *
 *   1  the C library's function for that, in one of two threads
 *   2  the C library's function for any system call
 *   3  an instruction of its own that makes the system call
 *   4  the instruction that writes the base
 *   5  the instruction that writes the segment register, which clears the base
 *   6  the same, behind data that hides where it begins
 *   7  nothing: only data between its code reads as that instruction
 *   8  the instruction that writes the base, in a function that is entered in its middle
 *
 * The base must keep this value, and memory read through it must be the program's. With the
 * argument "before" or "behind" it prints that word at this point and waits until its input ends.
 */
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "self_check.h"

enum { WORDS = 8192, HWCAP2_FSGSBASE = 2 };
static uint64_t own[WORDS];

int arch_prctl(int code, unsigned long address);

#if HOW == 8
__asm__(".text\n"
        ".type enter_first, @function\n"
        "enter_first:\n"
        ".cfi_startproc\n"
        "lea 8(%rdi), %rdi\n"
        ".globl enter_middle\n"
        "enter_middle:\n"
        "nopw 0(%rax)\n"
        "wrgsbase %rdi\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size enter_first, . - enter_first\n");
void enter_middle(void *to);
#endif

static __attribute__((noinline)) void take(void) {
#if HOW == 1
    check(arch_prctl(ARCH_SET_GS, (unsigned long)own) == 0, "arch_prctl");
#elif HOW == 2
    check(syscall(SYS_arch_prctl, ARCH_SET_GS, own) == 0, "syscall");
#elif HOW == 3
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_arch_prctl), "D"(ARCH_SET_GS), "S"(own)
                     : "rcx", "r11", "memory");
    check(result == 0, "the call");
#elif HOW == 4
    if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
        exit(77);
    __asm__ volatile("wrgsbase %0" : : "r"(own) : "memory");
#elif HOW == 8
    if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
        _exit(77);
    enter_middle(own);
#elif HOW == 5
    __asm__ volatile("mov %0,%%gs" : : "r"(0) : "memory");
#elif HOW == 6
    __asm__ volatile("jmp 1f\n .byte 0x48, 0xb8\n 1: mov %0,%%gs\n .skip 9, 0x90"
                     :
                     : "r"(0)
                     : "memory");
#else
    __asm__ volatile("jmp 1f\n .byte 0x8e, 0xe8, 0, 0\n 1: nop" : : : "memory");
#endif
}

static __attribute__((noinline)) uint64_t word(unsigned long index) {
    uint64_t value;
    __asm__ volatile("mov %%gs:(%1),%0" : "=r"(value) : "r"(index * sizeof value) : "memory");
    return value;
}

static __attribute__((noinline)) void use(void) {
    for (unsigned i = 0; i < WORDS; i++)
        own[i] = i;
    check_work();
    for (unsigned i = 0; i < WORDS && (HOW < 5 || HOW == 8); i++)
        check(word(i) == i && own[i] == i, "what is kept there");
}

static void *body(void *argument) {
    check_work();
    take();
    use();
    return argument;
}

static void wait_at(const char *place, const char *asked) {
    char byte;
    if (!asked || strcmp(place, asked) != 0)
        return;
    check(write(1, "there\n", 6) == 6, "output");
    check(read(0, &byte, 1) == 0, "input");
}

int main(int argc, char **argv) {
    pthread_t thread;
    check_work();
    wait_at("before", argc > 1 ? argv[1] : NULL);
    if (HOW == 1) {
        check(pthread_create(&thread, NULL, body, NULL) == 0, "thread");
        check_work();
        pthread_join(thread, NULL);
    }
    take();
    wait_at("behind", argc > 1 ? argv[1] : NULL);
    use();
    return right();
}

/*
 * The program steps itself, as debuggers' helpers and emulators do. It sets its trap flag and sees
 * each of its instructions once, in order, and no other code's: in its own functions and in
 * libraries.
 */
#include <signal.h>
#include <ucontext.h>

#include "maps.h"
#include "self_check.h"

/* walk_first calls the other two. walk_loop has too little room for a jump at its entry.
 * `walk_offsets` lists all executed instructions in order, as distances from `walk_first`. */
__asm__("    .text\n"
        "    .globl walk_first, walk_leaf, walk_loop, walk_offsets, walk_offsets_end\n"
        "    .type walk_first, @function\n"
        "    .type walk_leaf, @function\n"
        "    .type walk_loop, @function\n"
        "    .balign 32\n"
        "walk_first:\n"
        "    .cfi_startproc\n"
        "10: push %rbx\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "11: lea 3(%rdi), %rbx\n"
        "12: mov $2, %edi\n"
        "13: call walk_leaf\n"
        "14: call walk_loop\n"
        "15: add %rbx, %rax\n"
        "16: lea 1(%rax), %rax\n"
        "17: pop %rbx\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "18: ret\n"
        "    .cfi_endproc\n"
        "    .size walk_first, . - walk_first\n"
        "    .balign 32\n"
        "walk_leaf:\n"
        "    .cfi_startproc\n"
        "20: lea (%rdi, %rsi), %rax\n"
        "21: lea 7(%rax), %rax\n"
        "22: test %rax, %rax\n"
        "23: je 25f\n"
        "24: lea 1(%rax), %rax\n"
        "25: nop\n"
        "26: nop\n"
        "27: ret\n"
        "    .cfi_endproc\n"
        "    .size walk_leaf, . - walk_leaf\n"
        "    .balign 32\n"
        "walk_loop:\n"
        "    .cfi_startproc\n"
        "30: xor %eax, %eax\n"
        "31: inc %eax\n"
        "32: cmp %edi, %eax\n"
        "33: jne 31b\n"
        "34: ret\n"
        "    .cfi_endproc\n"
        "    .size walk_loop, . - walk_loop\n"
        "    .section .rodata\n"
        "walk_offsets:\n"
        "    .irp label, 10b, 11b, 12b, 13b, 20b, 21b, 22b, 23b, 24b, 25b, 26b, 27b, 14b\n"
        "    .byte \\label - walk_first\n"
        "    .endr\n"
        "    .irp label, 30b, 31b, 32b, 33b, 31b, 32b, 33b, 34b, 15b, 16b, 17b, 18b\n"
        "    .byte \\label - walk_first\n"
        "    .endr\n"
        "walk_offsets_end:\n"
        "    .text\n");

extern uint64_t walk_first(uint64_t, uint64_t);
extern const uint8_t walk_offsets[], walk_offsets_end[];

static volatile int next_offset, unexpected, steps;

static void on_step(int sig, siginfo_t *info, void *context) {
    uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uintptr_t offset = pc - (uintptr_t)walk_first;
    int known = (int)(walk_offsets_end - walk_offsets);
    unexpected += sig != SIGTRAP || info->si_code != TRAP_TRACE || !maps_is_code(pc);
    steps++;
    if (offset >= 96) /* in the caller or a library */
        return;
    unexpected += next_offset >= known || walk_offsets[next_offset] != offset;
    next_offset++;
}

static inline __attribute__((always_inline)) void set_trap_flag(void) {
    __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}
static inline __attribute__((always_inline)) void clear_trap_flag(void) {
    __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

static void step_own_functions(void) {
    next_offset = 0;
    set_trap_flag();
    uint64_t result = walk_first(10, 20);
    clear_trap_flag();
    check(result == 2 + 10 + 3 + 1, "the result");
    check(!unexpected && next_offset == walk_offsets_end - walk_offsets, "the steps");
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static void step_libraries(void) {
    int numbers[] = {5, 3, 9, 1, 7};
    char text[64];
    steps = 0;
    set_trap_flag();
    qsort(numbers, 5, sizeof *numbers, compare);
    snprintf(text, sizeof text, "%d %s %.3f", numbers[4], "text", 1.5);
    clear_trap_flag();
    check(strcmp(text, "9 text 1.500") == 0, "what libraries did");
    check(!unexpected, "a step in libraries");
    check(steps > 500, "how many steps libraries took");
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    check(walk_first(10, 20) == 16, "a function");
    maps_read_code();
    sigaction(SIGTRAP, &action, NULL);
    for (int i = 0; i < 3; i++) {
        step_own_functions();
        check_work();
    }
    step_libraries();
    return right();
}

/*
 * Has stacks as Go's scheduler keeps them, whose owners were stopped in the middle of what a patch
 * would cover, and lets them go on from there, over and over, until its standard input ends; checks
 * what they then compute and says "right". Half of the stacks tell where they stopped, the others
 * do not, as if they ran. With -DSTRIPPED (of the assembler, too) nothing tells where the stacks
 * are, nor of what function that is.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 600, STACK_WORDS = 512, REST_MS = 300 };

#ifdef STRIPPED
#define LIST "nameless"
__asm__(".section .gopclntab, \"a\"\n\t"
        ".balign 32\n\t"
        ".long 0xfffffff1\n\t"
        ".byte 0, 0, 1, 8\n\t"
        ".text");
#else
#define LIST "runtime.allgs"
#endif

struct goroutine { /* what Go's begins with */
    uint64_t *low, *high;
    uint64_t guards[2], panic, defer;
    const void *machine;
    uint64_t *sp;
};

static struct goroutine goroutines[COUNT], *pointers[COUNT];
static struct {
    struct goroutine **at;
    uint64_t count, capacity;
} list __asm__(LIST) __attribute__((used)) = {pointers, COUNT, COUNT};

/* What a signal, and no code, may stop at: behind the first instruction of same. resume(SP) goes on
 * at the address on SP, and returns what comes out. */
static volatile uint64_t stopped_at = 1;
uint64_t same(uint64_t n);
uint64_t resume(uint64_t *sp);
extern const char came_back[];
__asm__(".text\n"
        ".balign 16\n"
        ".globl same\n"
        ".type same, @function\n"
        "same:\n"
        "    .ifndef STRIPPED\n"
        "    .cfi_startproc\n"
        "    .endif\n"
        "    push %rdi\n"
        "    .ifndef STRIPPED\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .endif\n"
        "    pop %rax\n"
        "    .ifndef STRIPPED\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .endif\n"
        "    test %rax, %rax\n"
        "    ret\n"
        "    .ifndef STRIPPED\n"
        "    .cfi_endproc\n"
        "    .endif\n"
        "    .size same, . - same\n"
        "    .balign 16, 0xcc\n"
        "resume:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    mov %rdi, %rsp\n"
        "    ret\n"
        "came_back:\n"
        "    mov %rbp, %rsp\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n");

static void prepare(int i) {
    struct goroutine *g = &goroutines[i];
    g->low = calloc(STACK_WORDS, sizeof *g->low);
    if (!g->low)
        exit(2);
    g->high = g->low + STACK_WORDS;
    g->sp = g->high - 16 - i % 300;
    g->sp[0] = (uint64_t)(uintptr_t)same + stopped_at;
    g->sp[2] = (uint64_t)(uintptr_t)came_back;
    pointers[i] = g;
}

/* Returns whether what came out is right. */
__attribute__((noinline)) static int go_on(int i, uint64_t n) {
    uint64_t *sp = goroutines[i].high - 16 - i % 300;
    sp[1] = n;
    return resume(sp) == n && same(n) == n;
}

int main(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (int i = 0; i < COUNT; i++)
        prepare(i);
    for (int i = 1; i < COUNT; i += 2) {
        goroutines[i].machine = &list;
        goroutines[i].sp = NULL;
    }
    puts("ready");
    fflush(stdout);
    do {
        for (int i = 0; i < COUNT; i++)
            if (!go_on(i, (uint64_t)i * 77))
                return printf("wrong: %d\n", i), 1;
    } while (poll(&input, 1, REST_MS) == 0);
    puts("right");
    return 0;
}

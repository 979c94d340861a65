/*
 * Lays out stacks as Go's scheduler keeps them. Their owners were stopped inside the bytes that a
 * patch covers. The program resumes them again and again until standard input ends, checks their
 * results, and prints "right". Half of the stacks name the place where they stopped. The others do
 * not, as if their goroutines ran. With -DSTRIPPED (also of the assembler) no symbol names the list
 * of stacks or its function.
 *
 * On 32-bit Arm the program is A32 at a fixed address. Its mappings make it large, so a patch
 * covers two instructions.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 600, STACK_WORDS = 512, REST_MS = 300 };

#ifdef __arm__
#define SIZES "4, 4"
enum { STOPPED_AT = 4 };
static char room[8 << 20] __attribute__((used));
#else
#define SIZES "1, 8"
enum { STOPPED_AT = 1 };
#endif

#ifdef STRIPPED
#define LIST "nameless"
__asm__(".section .gopclntab, \"a\"\n\t"
        ".balign 32\n\t"
        ".long 0xfffffff1\n\t"
        ".byte 0, 0, " SIZES "\n\t"
        ".text");
#else
#define LIST "runtime.allgs"
#endif

struct goroutine { /* the first fields of Go's */
    uintptr_t *low, *high;
    uintptr_t guards[2], panic, defer;
    const void *machine;
    uintptr_t *sp;
};

static struct goroutine goroutines[COUNT], *pointers[COUNT];
static struct {
    struct goroutine **at;
    uintptr_t count, capacity;
} list __asm__(LIST) __attribute__((used)) = {pointers, COUNT, COUNT};

/* A place, behind the first instruction of same, where a signal may stop a thread but no branch
 * leads. resume(SP) continues at the address that SP points to, and returns the result. */
static volatile uintptr_t stopped_at = STOPPED_AT;
uintptr_t same(uintptr_t n);
uintptr_t resume(uintptr_t *sp);
extern const char came_back[];
__asm__(".text\n"
        ".balign 16\n"
        ".globl same\n"
        ".type same, %function\n"
        "same:\n"
        "    .ifndef STRIPPED\n"
        "    .cfi_startproc\n"
        "    .endif\n"
#ifdef __arm__
        "    str r0, [sp, #-4]!\n"
        "    ldr r0, [sp], #4\n"
        "    cmp r0, #0\n"
        "    bx lr\n"
#else
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
#endif
        "    .ifndef STRIPPED\n"
        "    .cfi_endproc\n"
        "    .endif\n"
        "    .size same, . - same\n"
#ifdef __arm__
        "resume:\n"
        "    push {r4, lr}\n"
        "    mov r4, sp\n"
        "    mov sp, r0\n"
        "    adr lr, came_back\n"
        "    ldr pc, [sp], #4\n"
        "came_back:\n"
        "    mov sp, r4\n"
        "    pop {r4, pc}\n"
#else
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
        "    ret\n"
#endif
);

static void prepare(int i) {
    struct goroutine *g = &goroutines[i];
    g->low = calloc(STACK_WORDS, sizeof *g->low);
    if (!g->low)
        exit(2);
    g->high = g->low + STACK_WORDS;
    g->sp = g->high - 16 - i % 300;
    g->sp[0] = (uintptr_t)same + stopped_at;
    g->sp[2] = (uintptr_t)came_back;
    pointers[i] = g;
}

/* Continues goroutine I; returns whether the result is right. */
__attribute__((noinline)) static int go_on(int i, uintptr_t n) {
    uintptr_t *sp = goroutines[i].high - 16 - i % 300;
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
            if (!go_on(i, (uintptr_t)i * 77))
                return printf("wrong: %d\n", i), 1;
    } while (poll(&input, 1, REST_MS) == 0);
    puts("right");
    return 0;
}

/*
 * Stacks that begin right at their ends, above which nothing is mapped. The first function on them
 * has no caller and no return address.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { SIZE = 64 << 10, PAGE = 4096, ROUNDS = 3 };
#define NOINLINE __attribute__((noinline))

static jmp_buf back;
static volatile int sum, alive;

static NOINLINE void leaf(int n) { sum += n; }

/* Begins at its first instruction, with the stack pointer at the end of the stack. */
static NOINLINE __attribute__((noreturn)) void coroutine(void) {
    leaf(1);
    longjmp(back, 1);
}

static NOINLINE __attribute__((noreturn)) void thread(void) {
    leaf(10);
    __asm__ volatile("syscall" ::"a"(SYS_exit), "D"(0));
    __builtin_unreachable();
}

static char *make_stack(void) {
    char *at = mmap(NULL, SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(at + SIZE, PAGE, PROT_NONE))
        exit(1);
    return at;
}

static NOINLINE void begin_coroutine(char *stack) {
    if (!setjmp(back))
        __asm__ volatile("mov %0, %%rsp; jmp *%1" ::"r"(stack + SIZE), "r"(coroutine) : "memory");
}

/* The thread shares thread-local data with its maker, which waits. */
static NOINLINE void begin_thread(char *stack) {
    long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                 CLONE_CHILD_CLEARTID;
    register long ended __asm__("r10") = (long)&alive;
    long result = SYS_clone;
    alive = 1;
    __asm__ volatile("syscall; test %%rax, %%rax; jnz 1f; jmp *%4; 1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack + SIZE), "d"(0), "r"(thread), "r"(ended)
                     : "rcx", "r11", "memory");
    if (result < 0)
        exit(1);
    while (alive)
        sched_yield();
}

int main(void) {
    char *stack = make_stack();
    for (int i = 0; i < ROUNDS; i++) {
        begin_coroutine(stack);
        begin_thread(stack);
    }
    printf("%d\n", sum);
    return 0;
}

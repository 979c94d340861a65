/*
 * Runs on a coroutine's stack when spoor attaches. The stack is the next mapping below the control
 * block of its own thread; the mapping between them is removed later. Prints "ready". At the first
 * line of input it unmaps that memory, calls functions at the end of the stack and prints "done".
 * At the last line it prints "right".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Little memory is free below the first thread's control block on AArch64, none on 32-bit Arm. */
#ifdef __aarch64__
enum { STACK = 16 << 10, CALLS = 1000 };
#else
enum { STACK = 64 << 10, CALLS = 1000 };
#endif
#ifdef __arm__
static const int in_another_thread = 1;
#else
static const int in_another_thread = 0;
#endif
#define KEEP __attribute__((noinline, noclone, noipa))

static ucontext_t first, second;
static char *between;
static volatile long sum;

/* The lowest address of the mapping that ADDR is in. */
static uintptr_t start_of_map(uintptr_t addr) {
    unsigned long start, end, found = 0;
    char line[4352];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &start, &end) == 2 && addr >= start && addr < end)
            found = start;
    fclose(maps);
    return found;
}

KEEP static void leaf(long n) { sum += n; }

KEEP static void wait_for_line(void) {
    while (getchar() != '\n')
        if (feof(stdin))
            exit(1);
}

static void coroutine(void) {
    puts("ready");
    wait_for_line();
    munmap(between, STACK);
    for (long n = 0; n < CALLS; n++)
        leaf(n);
    puts("done");
    wait_for_line();
}

/* Returns "", or the reason why it cannot run. */
static void *run_coroutine(void *unused) {
    uintptr_t block = (uintptr_t)__builtin_thread_pointer();
    char *wanted = (char *)start_of_map(block) - (size_t)2 * STACK; /* NOLINT */
    char *stack = mmap(wanted, (size_t)2 * STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (stack != wanted || start_of_map(block) > (uintptr_t)stack)
        return "memory";
    between = stack + STACK;
    getcontext(&second);
    second.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK};
    second.uc_link = &first;
    makecontext(&second, coroutine, 0);
    swapcontext(&first, &second);
    (void)unused;
    return "";
}

/* The thread's stack has no guard below it. */
static void *run_coroutine_in_thread(void) {
    void *ret = NULL;
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setguardsize(&attr, 0);
    pthread_create(&thread, &attr, run_coroutine, NULL);
    pthread_join(thread, &ret);
    return ret;
}

int main(void) {
    static char buffers[2][4096]; /* printing must not change the memory map */
    setvbuf(stdin, buffers[0], _IOFBF, sizeof buffers[0]);
    setvbuf(stdout, buffers[1], _IOLBF, sizeof buffers[1]);
    const char *way = in_another_thread ? run_coroutine_in_thread() : run_coroutine(NULL);
    if (*way)
        return 77;
    puts("right");
    return 0;
}

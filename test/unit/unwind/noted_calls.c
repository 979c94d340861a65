/*
 * A program that stops in a place that its argument names, and notes its own chain of calls: each
 * function writes down its address and where its frame begins.
 *
 *     deep     800 calls, then a system call
 *     signal   a handler, on an alternate stack, of a signal that interrupted calls
 *     plain    the same without an alternate stack
 *     threads  six threads, each in calls of its own; the main thread waits for them
 *     bottom   a stack whose outermost function has no return address
 *     turns    calls without end, to be stopped at any instruction
 *
 * When it has arrived there (with threads: each of them), it writes the address of its notes to
 * standard output.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { LINKS = 1024, CHAINS = 8 };

struct link {
    void *function, *cfa;
};
struct chain {
    struct link links[LINKS]; /* the outermost first */
    uint64_t count;
    uint64_t tid;
};
struct chain chains[CHAINS];
static __thread struct chain *own_chain = &chains[0];

#define ENTER(f) (own_chain->links[own_chain->count++] = (struct link){(void *)(f), CFA()})
#ifdef FRAME_POINTERS
#define CFA() ((char *)__builtin_frame_address(0) + 16)
#else
#define CFA() __builtin_dwarf_cfa()
#endif
#define KEEP __attribute__((noinline, noclone, noipa))

static void announce(void) {
    void *where = chains;
    (void)!write(1, &where, sizeof where);
}

KEEP static void wait_to_be_stopped(void) {
    char byte;
    ENTER(wait_to_be_stopped);
    announce();
    (void)!read(0, &byte, 1);
    _exit(0);
}

/* Only the CFA's register tells the size of its frame. */
KEEP static int descend(int n) {
    ENTER(descend);
    char room[16 + n % 5 * 24];
    memset(room, n, sizeof room);
    if (n)
        return descend(n - 1) + room[n % 16];
    wait_to_be_stopped();
    return room[0];
}

/* Pushes the callee-saved registers. */
KEEP static long saves(long a, long b, long c, long d) {
    ENTER(saves);
    int x = descend((int)(a & 3));
    return a * x + b * c - d + descend((int)(b & 1));
}

static void handler(int sig) {
    ENTER(handler);
    saves(sig, 1, 2, 3);
}

KEEP static void interrupted(bool other_stack) {
    static char room[65536];
    stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = handler, .sa_flags = other_stack ? SA_ONSTACK : 0};
    ENTER(interrupted);
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    __asm__ volatile("movl $0, 8"); /* the handler's caller is at this very instruction */
}

KEEP static void *thread(void *arg) {
    own_chain = arg;
    own_chain->tid = (uint64_t)gettid();
    ENTER(thread);
    saves((long)(own_chain - chains), 0, 0, 0);
    return NULL;
}

KEEP static void wait_for_threads(void) {
    pthread_t threads[CHAINS];
    ENTER(wait_for_threads);
    for (int i = 1; i < CHAINS - 1; i++)
        pthread_create(&threads[i], NULL, thread, &chains[i]);
    pthread_join(threads[1], NULL);
}

/* A function entered by makecontext() has a return address; this one has none. */
KEEP static void outermost(void) {
    ENTER(outermost);
    saves(1, 2, 3, 4);
}

KEEP static void change_stack(void) {
    static char room[65536] __attribute__((aligned(16)));
    own_chain->count = 0;
    void **top = (void **)(room + sizeof room - 64);
    *--top = NULL;
    __asm__ volatile("mov %0, %%rsp; jmp *%1" : : "r"(top), "r"(outermost) : "memory");
    __builtin_unreachable();
}

volatile uint64_t turn_count;
KEEP static long leaf(long x) { return x * 3 + (long)turn_count; }

KEEP static long turn(long x) {
    char room[x % 64 + 8];
    memset(room, (int)x, sizeof room);
    turn_count++;
    return room[x % 8] + leaf(x) + leaf(x + 1);
}

KEEP static void turns(void) {
    ENTER(turns);
    announce();
    for (long i = 0;; i++)
        turn(i);
}

int main(int argc, char **argv) {
    ENTER(main);
    own_chain->tid = (uint64_t)gettid();
    if (argc != 2)
        return 2;
    if (!strcmp(argv[1], "deep"))
        descend(800);
    else if (!strcmp(argv[1], "signal") || !strcmp(argv[1], "plain"))
        interrupted(!strcmp(argv[1], "signal"));
    else if (!strcmp(argv[1], "threads"))
        wait_for_threads();
    else if (!strcmp(argv[1], "bottom"))
        change_stack();
    else if (!strcmp(argv[1], "turns"))
        turns();
    return 1;
}

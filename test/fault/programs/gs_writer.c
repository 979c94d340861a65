/*
 * Has a function that writes the gs base by an instruction, which runs only where the argument says
 * so: gs_writer MODE [LIBRARY]
 *
 *     never     it does not
 *     threads   one thread calls it while others run traced functions
 *     child     a forked child calls it; its parent does not
 *     vfork     a child of vfork() calls it, and puts the base back
 *     loads     LIBRARY, which is this file, is loaded; it has such a function, too
 *     library   that is called
 *     writable  the function's text becomes writable; then the function is called
 *     inside    the function waits until its input ends, and goes on
 *     waits     likewise, before it is called
 *     pauses    it is called after a byte of input; the program goes on when its input ends
 *
 * The base must keep its value then, and memory read through it must be the program's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "self_check.h"

enum { WORDS = 8192, HWCAP2_FSGSBASE = 2, SKIP = 77, CALLS = 1000, THREADS = 3 };

__attribute__((noinline)) void take(void *to) {
    __asm__ volatile("wrgsbase %0" : : "r"(to) : "memory");
}

#ifndef LIBRARY
static uint64_t own[WORDS];

static __attribute__((noinline)) uint64_t word(unsigned long index) {
    uint64_t value;
    __asm__ volatile("mov %%gs:(%1),%0" : "=r"(value) : "r"(index * sizeof value) : "memory");
    return value;
}

static __attribute__((noinline)) uint64_t base(void) {
    uint64_t value;
    __asm__ volatile("rdgsbase %0" : "=r"(value));
    return value;
}

/* Beyond the call, so that a return address of it is on the stack. */
static __attribute__((noinline)) void take_slowly(void) {
    char byte;
    check(write(1, "there\n", 6) == 6, "output");
    check(read(0, &byte, 1) == 0, "input");
    __asm__ volatile("wrgsbase %0" : : "r"(own) : "memory");
}

static __attribute__((noinline)) void leaf(void) { __asm__ volatile("" : : : "memory"); }

static __attribute__((noinline)) void before(void) {
    for (int i = 0; i < CALLS; i++)
        leaf();
}

static __attribute__((noinline)) void behind(void) {
    for (unsigned i = 0; i < WORDS; i++)
        own[i] = i;
    check_work();
    for (unsigned i = 0; i < WORDS; i++)
        check(word(i) == i && own[i] == i, "what is kept there");
}

static atomic_int over, running;

static void *body(void *argument) {
    running++;
    while (!over)
        check_work();
    check(base() != (uint64_t)own, "another thread's base");
    return argument;
}

static void threads(void) {
    pthread_t others[THREADS];
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&others[i], NULL, body, NULL) == 0, "thread");
    while (running < THREADS)
        check_work();
    take(own);
    for (int i = 0; i < 20; i++)
        behind();
    over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(others[i], NULL);
}

static void child(void) {
    int status;
    pid_t pid = fork();
    check(pid >= 0, "fork");
    if (!pid) {
        before();
        take(own);
        behind();
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid && status == 0, "child");
    before();
}

static __attribute__((noinline)) void vfork_child(void) {
    int status;
    pid_t pid = vfork();
    check(pid >= 0, "vfork");
    if (!pid) {
        take(own);
        _exit(word(5) != own[5]);
    }
    check(waitpid(pid, &status, 0) == pid && status == 0, "child");
    before();
}

static void library(const char *path, int calls) {
    void *handle = dlopen(path, RTLD_NOW);
    check(handle != NULL, "dlopen");
    void (*library_take)(void *) = (void (*)(void *))dlsym(handle, "take");
    check(library_take != NULL, "dlsym");
    before();
    if (!calls)
        return;
    library_take(own);
    behind();
}

static void writable(void) {
    const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)take & ~(size - 1));
    check(mprotect(page, 2 * size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0, "mprotect");
    take(own);
    behind();
}

static void wait_for_input(void) {
    char byte;
    check(write(1, "there\n", 6) == 6, "output");
    check(read(0, &byte, 1) == 0, "input");
    take(own);
}

static void call_in_pause(void) {
    char byte;
    check(write(1, "there\n", 6) == 6, "output");
    check(read(0, &byte, 1) == 1, "first input");
    take(own);
    check(write(1, "taken\n", 6) == 6, "output");
    check(read(0, &byte, 1) == 0, "input");
    behind();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE))
        return SKIP;
    before();
    if (!strcmp(mode, "threads"))
        threads();
    else if (!strcmp(mode, "child"))
        child();
    else if (!strcmp(mode, "vfork"))
        vfork_child();
    else if (!strcmp(mode, "loads") || !strcmp(mode, "library"))
        library(argc > 2 ? argv[2] : "", !strcmp(mode, "library"));
    else if (!strcmp(mode, "writable"))
        writable();
    else if (!strcmp(mode, "inside"))
        take_slowly();
    else if (!strcmp(mode, "waits"))
        wait_for_input();
    else if (!strcmp(mode, "pauses"))
        call_in_pause();
    return right();
}
#endif

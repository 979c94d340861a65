/*
 * Protection keys: memory that a thread may not read until a handler permits it, and rights that
 * functions change and keep.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

static int key;
static volatile int faults;
static volatile int *page;

static NOINLINE int rights(void) {
    ENTER;
    int now = pkey_get(key);
    LEAVE;
    return now;
}

/* The handler runs with protection rights of its own; those of the interrupted code are in its
 * frame. So it removes the key from the page. */
static NOINLINE void on_fault(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    ENTER;
    if (info->si_code != SEGV_PKUERR || (int)info->si_pkey != key)
        _exit(1);
    faults++;
    pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, 0);
    LEAVE;
}

static NOINLINE int touch(int n) {
    ENTER;
    *page = n;
    int result = *page + 1;
    LEAVE;
    return result;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    key = pkey_alloc(0, 0);
    if (key < 0)
        return 77;
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ENTER;
    sigaction(SIGSEGV, &action, NULL);
    pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, key);
    printf("%d ", rights());
    printf("%d\n", touch(1));
    pkey_set(key, PKEY_DISABLE_ACCESS);
    printf("%d ", rights());
    printf("%d ", touch(2));
    printf("%d %d\n", rights(), faults);
    pkey_mprotect((void *)page, 4096, PROT_READ | PROT_WRITE, key);
    pkey_set(key, 0);
    printf("%d ", rights());
    printf("%d\n", touch(3));
    LEAVE;
    expect_print();
    return 0;
}

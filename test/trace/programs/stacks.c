/*
 * Calls probe() in many ways. Each time probe() prints its callers. "want" are the functions of
 * this program, the nearest first. "seen" are the modules that backtrace() finds ("-" in static
 * programs).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>
#endif

/* Keeps calls from becoming jumps, and frames from being merged. */
#define KEEP __asm__ volatile("" ::: "memory")
#define NOINLINE __attribute__((noinline))

enum { MOST = 200 };

/* musl's functions have no call-frame information. */
#ifdef __GLIBC__
#define SORTING "compare sort main"
#define INTERRUPTED "inner on_signal interrupt main"
#else
#define SORTING "compare"
#define INTERRUPTED "inner on_signal"
#endif

#ifdef __GLIBC__
static inline __attribute__((always_inline)) void print_seen(void) {
    void *at[MOST];
    int count = backtrace(at, MOST);
    Dl_info info = {.dli_fname = ""};
    printf("seen:");
    for (int i = 1; i < count && dladdr((char *)at[i] - 1, &info); i++) {
        const char *slash = strrchr(info.dli_fname, '/');
        printf(" %s", slash ? slash + 1 : "[vdso]"); /* the only module without a file */
    }
    printf(info.dli_fname[0] ? "\n" : " -\n");
}
#else
static void print_seen(void) { printf("seen: -\n"); }
#endif

static NOINLINE void probe(const char *want) {
    printf("want: %s\n", want);
    print_seen();
    KEEP;
}

static NOINLINE void inner(const char *want) {
    char room[40] = "frames differ in size";
    __asm__ volatile("" ::"r"(room) : "memory");
    probe(want);
    KEEP;
}

static NOINLINE void outer(const char *want, size_t size) {
    char room[size]; /* a variable size, which needs a frame pointer */
    memset(room, 0x55, size);
    __asm__ volatile("" ::"r"(room) : "memory");
    inner(want);
    KEEP;
}

/* one() and two() call with the same registers and stack pointers. */
static NOINLINE void one(void) {
    inner("inner one main");
    KEEP;
}

static NOINLINE void two(void) {
    inner("inner two main");
    KEEP;
}

static NOINLINE int recurse(int depth, const char *want) {
    int value = depth ? recurse(depth - 1, want) + 1 : 0;
    if (!depth)
        probe(want);
    KEEP;
    return value;
}

static NOINLINE int compare(const void *a, const void *b) {
    static int calls;
    if (!calls++)
        probe(SORTING);
    KEEP;
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void sort(void) {
    int values[] = {2, 1};
    qsort(values, 2, sizeof *values, compare);
    KEEP;
}

static const char *wanted;

static NOINLINE void on_signal(int signal) {
    (void)signal;
    inner(wanted);
    KEEP;
}

static NOINLINE void interrupt(int flags, const char *want) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    sigaction(SIGUSR1, &action, NULL);
    wanted = want;
    raise(SIGUSR1);
    KEEP;
}

/* The handler's frames fit into the last page of its stack, and the interrupted frames are
 * elsewhere. */
static NOINLINE void interrupt_elsewhere(void) {
    enum { SIZE = 256 << 10 };
    stack_t stack = {.ss_size = SIZE};
    stack.ss_sp = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
    interrupt(SA_ONSTACK, "elsewhere inner on_signal");
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    KEEP;
}

static NOINLINE void *thread(void *unused) {
    inner("inner thread");
    KEEP;
    return unused;
}

static NOINLINE void run_thread(void) {
    pthread_t id;
    pthread_create(&id, NULL, thread, NULL);
    pthread_join(id, NULL);
    KEEP;
}

#ifdef __GLIBC__
static ucontext_t first, second;

static NOINLINE void coroutine(void) {
    inner("inner coroutine");
    KEEP;
}

/* The memory directly above its stack is unmapped. */
static NOINLINE void run_coroutine(void) {
    enum { SIZE = 64 << 10, PAGE = 4096 };
    char *at = mmap(NULL, SIZE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at + SIZE, PAGE);
    getcontext(&second);
    second.uc_stack = (stack_t){.ss_sp = at, .ss_size = SIZE};
    second.uc_link = &first;
    makecontext(&second, coroutine, 0);
    swapcontext(&first, &second);
    munmap(at, SIZE);
    KEEP;
}
#else
static void run_coroutine(void) {}
#endif

int main(void) {
#ifdef __GLIBC__
    void *unused[1];
    backtrace(unused, 1); /* loads a library */
#endif
    probe("main");
    one();
    two();
    outer("inner outer main", 16);
    outer("inner outer main", 5000);
    recurse(12, "recurse recurse recurse recurse recurse recurse recurse recurse recurse recurse "
                "recurse recurse recurse main");
    sort();
    interrupt(0, INTERRUPTED);
    interrupt_elsewhere();
    run_thread();
    run_coroutine();
    return 0;
}

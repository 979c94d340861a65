/*
 * Samples its own stack as profilers do. SIGPROF arrives at any instruction in two threads, and its
 * handler walks the stack by backtrace() and _Unwind_Backtrace. Each sample must be complete: it
 * names only code of the program and its libraries, and has the right number of frames. Excepted
 * are samples in code without unwind information (AArch64's PLT stubs).
 */
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "expect.h"

enum { SAMPLES = 200, MOST_FRAMES = 100, DEPTH = 12, NUMBERS = 32, MODULES = 16 };

struct sampler {
    volatile int level, samples; /* calls of `tree` that are open */
    void *bottom;                /* the return address of the thread's first function */
};

static struct { uintptr_t low, high; } modules[MODULES];
static int module_count;
static volatile int zero;
static __thread struct sampler *volatile self;
static atomic_uint wrong;
static uintptr_t tree_low, tree_high;

static int note_module(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)size;
    (void)argument;
    for (int i = 0; i < info->dlpi_phnum && module_count < MODULES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        uintptr_t low = info->dlpi_addr + p->p_vaddr;
        modules[module_count].low = low;
        modules[module_count++].high = low + p->p_memsz;
    }
    return 0;
}

static int is_code(uintptr_t pc) {
    for (int i = 0; i < module_count; i++)
        if (pc >= modules[i].low && pc < modules[i].high)
            return 1;
    return 0;
}

struct walk {
    void *frames[MOST_FRAMES];
    int count;
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *argument) {
    struct walk *walk = argument;
    if (walk->count < MOST_FRAMES)
        walk->frames[walk->count++] = (void *)_Unwind_GetIP(context);
    return _URC_NO_REASON;
}

/* At the first and last instructions of `tree`, its own frame may or may not be counted in `level`.
 */
static void check_sample(const char *how, void *const *frames, int count, const struct sampler *s) {
    int open = 0, complete = 0, foreign = 0;
    for (int i = 0; i < count; i++) {
        uintptr_t pc = (uintptr_t)frames[i];
        open += pc >= tree_low && pc < tree_high;
        complete |= frames[i] == s->bottom;
        foreign += pc && !is_code(pc);
    }
    if (complete && !foreign && (open == s->level || open == s->level + 1))
        return;
    if (atomic_fetch_add(&wrong, 1) < 3)
        printf("%s: %d frames, %d of %d in tree, %d nowhere%s\n", how, count, open, s->level,
               foreign, complete ? "" : ", cut short");
}

/* Whether unwind information covers PC. */
static int is_described(uintptr_t pc) {
#ifndef __aarch64__
    return pc != 0; /* the linker describes x86-64's PLT; tables of .ARM.exidx have no gaps */
#else
    extern const void *_Unwind_Find_FDE(void *pc, void *bases); /* libgcc's unwind-dw2-fde.h */
    void *bases[3];
    return _Unwind_Find_FDE((void *)pc, bases) != NULL;
#endif
}

static uintptr_t pc_of(const ucontext_t *context) {
#if defined __x86_64__
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return context->uc_mcontext.pc;
#else
    return context->uc_mcontext.arm_pc;
#endif
}

static void on_sample(int signal, siginfo_t *info, void *context) {
    struct sampler *s = self;
    void *frames[MOST_FRAMES];
    struct walk walk = {.count = 0};
    uintptr_t pc = pc_of(context);
    (void)signal;
    (void)info;
    if (!s || (is_code(pc) && !is_described(pc)))
        return;
    check_sample("backtrace()", frames, backtrace(frames, MOST_FRAMES), s);
    _Unwind_Backtrace(note_frame, &walk);
    check_sample("_Unwind_Backtrace", walk.frames, walk.count, s);
    s->samples++;
}

static NOINLINE int leaf(int n) { return n * 3 + zero; }
static NOINLINE int forward(int n) { return leaf(n + 1); }

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static NOINLINE int sort(int n) {
    int numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (n * (i + 7)) & 1023;
    qsort(numbers, NUMBERS, sizeof *numbers, compare);
    return numbers[0] + forward(n);
}

__attribute__((noinline, section("trees"))) static int tree(int depth) {
    self->level++;
    int sum = depth ? tree(depth - 1) + leaf(depth) : sort(depth);
    sum += forward(sum);
    self->level--;
    return sum;
}

extern char __start_trees[], __stop_trees[];

/* Samples this thread once a millisecond. */
static timer_t start_timer(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        abort();
    timer_settime(timer, 0, &often, NULL);
    return timer;
}

static NOINLINE void *work(void *bottom) {
    struct sampler sampler = {0};
    sampler.bottom = bottom ? bottom : __builtin_return_address(0);
    self = &sampler;
    timer_t timer = start_timer();
    for (volatile int sum = 0; sampler.samples < SAMPLES;)
        sum += tree(DEPTH);
    timer_delete(timer);
    self = NULL;
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_RESTART | SA_SIGINFO};
    void *warm[1];
    pthread_t thread;
    backtrace(warm, 1); /* loads the library that it needs */
    dl_iterate_phdr(note_module, NULL);
    tree_low = (uintptr_t)__start_trees;
    tree_high = (uintptr_t)__stop_trees;
    sigaction(SIGPROF, &action, NULL);
    pthread_create(&thread, NULL, work, NULL);
    work(__builtin_return_address(0));
    pthread_join(thread, NULL);
    printf("%u samples are wrong\n", wrong);
    return wrong != 0;
}

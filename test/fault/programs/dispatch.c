/*
 * Makes all of its system calls, except the C library's, in a handler of its own
 * (PR_SET_SYSCALL_USER_DISPATCH, as Wine does for Windows programs): dispatch LIBRARY
 *
 * The handler must see each call of the program once, and no other call. Signals arrive all the
 * time, a library is loaded, and threads are made that have more calls to make than others.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "self_check.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH /* since Linux 5.11 */
enum { PR_SET_SYSCALL_USER_DISPATCH = 59, PR_SYS_DISPATCH_ON = 1 };
#endif
enum { LOADS = 5, CALLS = 50, HITS = 500, PERIOD_US = 100, ROUNDS = 2000, STEP = 7, THREADS = 100 };
enum { SKIPPED = 77, RANGES = 16 };

static struct range { uintptr_t start, end; } libc_text, known[RANGES];
static unsigned known_count;
static volatile char selector = 1; /* system calls go to the handler */
static volatile sig_atomic_t hits, handled, unexpected;
static pthread_barrier_t all_here;

static int note_text(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size, (void)arg;
    for (int i = 0; i < info->dlpi_phnum && known_count < RANGES; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        struct range r = {info->dlpi_addr + p->p_vaddr, info->dlpi_addr + p->p_vaddr + p->p_memsz};
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        known[known_count++] = r;
        if ((uintptr_t)&sigaction >= r.start && (uintptr_t)&sigaction < r.end)
            libc_text = r;
    }
    return 0;
}

static int is_known(uintptr_t addr) {
    for (unsigned i = 0; i < known_count; i++)
        if (addr >= known[i].start && addr < known[i].end)
            return 1;
    return 0;
}

static void on_call(int sig, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int error = errno;
    (void)sig;
    handled++;
    unexpected += !is_known((uintptr_t)info->si_call_addr);
    long result = syscall(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
                          r[REG_R8], r[REG_R9]);
    r[REG_RAX] = result == -1 ? -errno : result;
    errno = error;
}

static void on_alarm(int sig) {
    (void)sig;
    hits++;
}

static int dispatch(void) {
    return prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, libc_text.start,
                 libc_text.end - libc_text.start, &selector);
}

/* A system call outside the C library. */
__attribute__((noinline)) static long call(long number) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(number) : "rcx", "r11", "memory");
    return result;
}

static void check_calls(void) {
    int before = handled;
    for (int i = 0; i < CALLS; i++)
        check(call(SYS_getpid) == getpid(), "getpid");
    check(handled == before + CALLS, "calls that are handled");
}

__attribute__((noinline)) static unsigned long mix(unsigned long value) {
    __asm__ volatile("lea 3(%0), %0\n\tlea 2(%0), %0\n\tlea 2(%0), %0" : "+r"(value));
    return value;
}

static void work_under_signals(void) {
    struct itimerval often = {{0, PERIOD_US}, {0, PERIOD_US}}, never = {{0, 0}, {0, 0}};
    int before = handled;
    setitimer(ITIMER_REAL, &often, NULL);
    while (hits < HITS) {
        unsigned long value = 0;
        for (int i = 0; i < ROUNDS; i++)
            value = mix(value);
        check(value == ROUNDS * STEP, "mix");
    }
    setitimer(ITIMER_REAL, &never, NULL);
    check(handled == before, "calls where none is made");
}

static void load(const char *path) {
    for (int i = 0; i < LOADS; i++) {
        int before = handled;
        void *library = dlopen(path, RTLD_NOW);
        check(library != NULL, dlerror());
        int (*add)(int, int) = (int (*)(int, int))(uintptr_t)dlsym(library, "library_add");
        check(add && add(2, 3) == 9, "library_add");
        check(handled > before, "the dynamic linker's calls");
        dlclose(library);
    }
}

static void *work_together(void *arg) {
    (void)arg;
    check(dispatch() == 0, "dispatch in a thread");
    pthread_barrier_wait(&all_here);
    check_work();
    return NULL;
}

/* Makes more threads than there are lanes. */
static void threads(void) {
    pthread_t all[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&all[i], NULL, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

int main(int argc, char **argv) {
    struct sigaction handle = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
    struct sigaction count = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    check(argc > 1, "arguments");
    dl_iterate_phdr(note_text, NULL);
    sigaction(SIGSYS, &handle, NULL);
    sigaction(SIGALRM, &count, NULL);
    if (dispatch() < 0)
        return SKIPPED;
    check_calls();
    work_under_signals();
    load(argv[1]);
    threads();
    check_calls();
    check(!unexpected, "calls of others");
    return right();
}

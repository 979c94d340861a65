/*
 * Installs a seccomp filter, then does what a tracer needs system calls for: loads a library, runs
 * more threads than there are lanes, and executes itself: sandboxes KIND LIBRARY [inside]
 *
 *     spares   kills for calls like those that src/patch/permits.c lists, and not for those
 *     fails    lets memfd_create fail
 *     guards   lets memory be written or executed, not both, as systemd's MemoryDenyWriteExecute
 *     kills    kills for anonymous memory that can be executed
 *     thread   as kills, but only in the thread that loads the library
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 100, LOADED = 7 };

#ifndef SYS_mmap /* 32-bit Arm has mmap2 */
#define SYS_mmap SYS_mmap2
#endif
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define LOAD_ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))
#define IF(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (yes), (no))
#define IF_ANY(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (yes), (no))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))

enum { KILL = (int)SECCOMP_RET_KILL_PROCESS, ALLOW = SECCOMP_RET_ALLOW };

static struct sock_filter spares[] = {
    LOAD_NUMBER,
    IF(SYS_mremap, 25, 0),
    IF(SYS_ftruncate, 24, 0),
    IF(SYS_fallocate, 23, 0),
    IF(SYS_rt_tgsigqueueinfo, 22, 0),
    IF(SYS_membarrier, 21, 0),
    IF(SYS_memfd_create, 0, 2),
    LOAD_ARG(1),
    IF(MFD_CLOEXEC | MFD_ALLOW_SEALING, 17, 18),
    IF(SYS_rt_sigaction, 0, 2),
    LOAD_ARG(0),
    IF(5 /* SIGTRAP */, 15, 14),
    IF(SYS_mmap, 0, 13),
    LOAD_ARG(3),
    IF_ANY(MAP_SHARED, 0, 4),
    LOAD_ARG(2),
    IF(PROT_READ | PROT_WRITE, 0, 10),
    LOAD_ARG(5),
    IF(0, 7, 8),
    IF_ANY(MAP_ANONYMOUS, 0, 6),
    LOAD_ARG(2),
    IF_ANY(PROT_EXEC, 0, 4),
    IF(PROT_READ | PROT_EXEC, 0, 4),
    LOAD_ARG(3),
    IF(MAP_PRIVATE | MAP_ANONYMOUS, 1, 0),
    IF(MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, 0, 1),
    ANSWER(ALLOW),
    ANSWER(KILL),
};
static struct sock_filter fails[] = {
    LOAD_NUMBER,
    IF(SYS_memfd_create, 1, 0),
    ANSWER(ALLOW),
    ANSWER(SECCOMP_RET_ERRNO | EPERM),
};
static struct sock_filter guards[] = {
    LOAD_NUMBER,
    IF(SYS_mmap, 0, 4),
    LOAD_ARG(2),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
    IF(PROT_WRITE | PROT_EXEC, 4, 0),
    ANSWER(ALLOW),
    IF(SYS_mprotect, 0, 3),
    LOAD_ARG(2),
    IF_ANY(PROT_EXEC, 0, 1),
    ANSWER(SECCOMP_RET_ERRNO | EPERM),
    ANSWER(ALLOW),
};
static struct sock_filter kills[] = {
    LOAD_NUMBER, IF(SYS_mmap, 0, 4),      LOAD_ARG(3),   IF_ANY(MAP_ANONYMOUS, 0, 2),
    LOAD_ARG(2), IF_ANY(PROT_EXEC, 1, 0), ANSWER(ALLOW), ANSWER(KILL),
};

#define FILTER(name, code)                                                                         \
    {                                                                                              \
        (name), { sizeof(code) / sizeof *(code), (code) }                                          \
    }
static const struct {
    const char *name;
    struct sock_fprog program;
} kinds[] = {FILTER("spares", spares), FILTER("fails", fails), FILTER("guards", guards),
             FILTER("kills", kills), FILTER("thread", kills)};

static void lock_in(const char *kind) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i].name) == 0)
            check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &kinds[i].program) == 0, "seccomp");
}

static void load(const char *library) {
    int (*add)(int, int);
    void *handle = dlopen(library, RTLD_NOW);
    check(handle != NULL, "dlopen");
    *(void **)&add = dlsym(handle, "library_add");
    for (int i = 0; i < LOADED; i++)
        check(add(i, 1) == 3 * i + 1, "library_add");
}

static pthread_barrier_t all_here;

__attribute__((noinline)) static void thread_work(void) { check_work(); }

static void *work_together(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_here);
    thread_work();
    return NULL;
}

static void run_threads(void) {
    pthread_t all[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&all[i], NULL, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

__attribute__((noinline)) static int inner_work(void) {
    check_work();
    return LOADED;
}

static void execute(char **argv) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        execl("/proc/self/exe", argv[0], argv[1], argv[2], "inside", NULL);
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child's end");
    check(WEXITSTATUS(status) == LOADED, "the child's status");
}

static void *load_locked_in(void *argv) {
    lock_in("thread");
    load(((char **)argv)[2]);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    check(argc >= 3, "usage");
    if (argc > 3)
        return inner_work();
    if (strcmp(argv[1], "thread") == 0) {
        check(pthread_create(&thread, NULL, load_locked_in, argv) == 0, "pthread_create");
        pthread_join(thread, NULL);
    } else {
        lock_in(argv[1]);
        load(argv[2]);
    }
    run_threads();
    execute(argv);
    return right();
}

/*
 * Installs a seccomp filter that kills for memfd_create and mmap. Then it does what a tracer needs
 * these calls for: more threads than there are lanes, children, programs: late_sandbox [inside]
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 100 };

static pthread_barrier_t all_here;

static void *work_together(void *arg) {
    (void)arg;
    pthread_barrier_wait(&all_here);
    check_work();
    return NULL;
}

static void lock_in(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

static void threads(void) {
    pthread_t all[THREADS];
    pthread_barrier_init(&all_here, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&all[i], NULL, work_together, NULL) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        check_work();
        return 7;
    }
    int status;
    lock_in();
    threads();
    pid_t pid = fork();
    if (pid == 0) {
        check_work();
        execl("/proc/self/exe", "cell", "inside", NULL);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "the child's end");
    check(WEXITSTATUS(status) == 7, "the child's status");
    return right();
}

/*
 * task_prices threads COUNT: creates COUNT threads, one after the other; each calls work() once.
 * task_prices execs COUNT: forks COUNT children, one after the other; each executes this file for
 * no threads, and calls work() once there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int made;

void work(void);
__attribute__((noinline)) void work(void) { __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED); }

/* Calls work(). On x86-64 its window holds the call, and the trampoline the return address. */
void call_work(void);
#ifdef __x86_64__
__asm__(".text\n.globl call_work\n.type call_work, @function\ncall_work:\n.cfi_startproc\n"
        "push %rax\n.cfi_adjust_cfa_offset 8\ncall work\n"
        "pop %rax\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n.size call_work, . - call_work");
#else
void call_work(void) { work(); }
#endif

static void *body(void *arg) {
    work();
    return arg;
}

static int make_threads(int count) {
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, body, NULL) || pthread_join(thread, NULL))
            return 1;
    }
    return 0;
}

static int make_children(const char *program, int count) {
    for (int i = 0; i < count; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            execl(program, program, "once", "0", NULL);
            _exit(127);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
            return 1;
        made++;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "once") == 0) {
        call_work();
        return made != 1;
    }
    int count = atoi(argv[2]);
    int rc = strcmp(argv[1], "threads") == 0 ? make_threads(count)
                                             : make_children("/proc/self/exe", count);
    printf("%d made\n", made);
    return rc;
}

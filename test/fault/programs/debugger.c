/* A program that traces others: children that ask for it, children that it attaches to or seizes,
 * running and stopped, with threads, made by fork and vfork. What it traces must be as the
 * program's file has it, and be all its own. debugger [STEPS] */
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "self_check.h"

enum { THREADS = 3, EVENT_SHIFT = 16, TEXT_BYTES = 64 };

static int status_of(pid_t pid) {
    int status = -1;
    check(waitpid(pid, &status, __WALL) == pid, "waitpid");
    return status;
}

static void check_stop(pid_t pid, int sig, int event) {
    int status = status_of(pid);
    check(WIFSTOPPED(status) && WSTOPSIG(status) == sig, "the stop's signal");
    check(status >> EVENT_SHIFT == event, "the stop's event");
}

static void check_end(pid_t pid, int code) {
    int status = status_of(pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == code, "the end of a child");
}

static int find_base(struct dl_phdr_info *info, size_t size, void *ret) {
    (void)size;
    *(uintptr_t *)ret = info->dlpi_addr;
    return 1; /* the program is the first mapping */
}

/* PID's copy of work() equals the file's. */
static void check_text(pid_t pid) {
    uint8_t file[TEXT_BYTES], memory[TEXT_BYTES];
    uintptr_t base = 0;
    dl_iterate_phdr(find_base, &base);
    FILE *f = fopen("/proc/self/exe", "r");
    check(f && fseek(f, (long)((uintptr_t)work - base), SEEK_SET) == 0, "the file");
    check(fread(file, 1, sizeof file, f) == sizeof file, "the file's bytes");
    fclose(f);
    for (size_t i = 0; i < TEXT_BYTES; i += sizeof(long)) {
        long word = ptrace(PTRACE_PEEKTEXT, pid, (uintptr_t)work + i, NULL);
        memcpy(memory + i, &word, sizeof word);
    }
    check(memcmp(file, memory, sizeof file) == 0, "the text of what is traced");
}

static void check_maps(pid_t pid) {
    char name[64], line[4096];
    snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *f = fopen(name, "r");
    check(f != NULL, "the memory map");
    while (fgets(line, sizeof line, f))
        check(!strstr(line, "memfd:"), "memory of another process");
    fclose(f);
}

static int steps = 3000;

/* Steps some thousand instructions, or the number that the argument names. (Kernels of 32-bit Arm
 * have no such request.) */
static void step(pid_t pid) {
#ifdef __arm__
    steps = 0;
#endif
    for (int i = 0; i < steps; i++) {
        check(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0, "PTRACE_SINGLESTEP");
        check_stop(pid, SIGTRAP, 0);
    }
}

static void trace_willing_child(void) {
    pid_t pid = fork();
    if (pid == 0) {
        check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
        check(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM, "once more");
        raise(SIGSTOP);
        check_work();
        pid = fork();
        if (pid == 0)
            _exit(9);
        check_end(pid, 9);
        execl("/bin/true", "true", NULL);
    }
    check_stop(pid, SIGSTOP, 0);
    check_text(pid);
    check(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC) == 0,
          "PTRACE_SETOPTIONS");
    step(pid);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    check_stop(pid, SIGTRAP, PTRACE_EVENT_FORK);
    unsigned long child;
    ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
    check_stop((pid_t)child, SIGSTOP, 0);
    ptrace(PTRACE_DETACH, (pid_t)child, NULL, NULL);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    check_stop(pid, SIGCHLD, 0);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    check_stop(pid, SIGTRAP, PTRACE_EVENT_EXEC);
    check_maps(pid);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    check_end(pid, 0);
}

static void by_vfork(void) {
    pid_t pid = vfork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    check_work();
    check_stop(pid, SIGTRAP, 0);
    check_maps(pid);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    check_end(pid, 0);
}

/* ---- a child with threads, which runs until it gets a signal ---- */

static struct {
    volatile pid_t tids[THREADS];
    volatile int there, over;
} * shared;

static void *run(void *arg) {
    int *i = arg;
    shared->tids[*i] = (pid_t)syscall(SYS_gettid);
    __atomic_fetch_add(&shared->there, 1, __ATOMIC_SEQ_CST);
    while (!shared->over)
        check_work();
    return NULL;
}

static void run_threads(void) {
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 1; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, run, &numbers[i]);
    }
    run(&numbers[0]);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    _exit(8);
}

static pid_t start_threads(void) {
    shared->there = shared->over = 0;
    pid_t pid = fork();
    if (pid == 0)
        run_threads();
    while (shared->there < THREADS)
        usleep(1000);
    return pid;
}

static void attach(void) {
    pid_t pid = start_threads();
    for (int i = 0; i < THREADS; i++) {
        check(ptrace(PTRACE_ATTACH, shared->tids[i], NULL, NULL) == 0, "PTRACE_ATTACH");
        check_stop(shared->tids[i], SIGSTOP, 0);
    }
    check_text(pid);
    check_maps(pid);
    step(pid);
    for (int i = 0; i < THREADS; i++)
        check(ptrace(PTRACE_DETACH, shared->tids[i], NULL, NULL) == 0, "PTRACE_DETACH");
    shared->over = 1;
    check_end(pid, 8);
}

static void seize(void) {
    pid_t pid = start_threads();
    for (int i = THREADS; i-- > 0;) {
        check(ptrace(PTRACE_SEIZE, shared->tids[i], NULL, PTRACE_O_TRACEEXIT) == 0, "PTRACE_SEIZE");
        check(ptrace(PTRACE_INTERRUPT, shared->tids[i], NULL, NULL) == 0, "PTRACE_INTERRUPT");
        check_stop(shared->tids[i], SIGTRAP, PTRACE_EVENT_STOP);
    }
    check_text(pid);
    check_maps(pid);
    for (int i = 0; i < THREADS; i++)
        ptrace(PTRACE_DETACH, shared->tids[i], NULL, NULL);
    shared->over = 1;
    check_end(pid, 8);
}

/* Begins as strace does: the child has stopped itself. */
static void seize_stopped(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        check_work();
        _exit(6);
    }
    check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "the child's stop");
    check(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) == 0, "PTRACE_SEIZE");
    check_stop(pid, SIGSTOP, PTRACE_EVENT_STOP);
    check_text(pid);
    kill(pid, SIGCONT);
    for (int ends = 0; !ends;) {
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        check(waitpid(pid, &status, __WALL) == pid, "waitpid");
        ends = !WIFSTOPPED(status);
    }
    check(WIFEXITED(status) && WEXITSTATUS(status) == 6, "the end of what was seized");
}

static void refused(void) {
    check(ptrace(PTRACE_ATTACH, getpid(), NULL, NULL) < 0 && errno == EPERM, "itself");
    check(ptrace(PTRACE_SEIZE, 0x7ffffff0, NULL, NULL) < 0 && errno == ESRCH, "no such process");
    check(ptrace(PTRACE_CONT, getppid(), NULL, NULL) < 0 && errno == ESRCH, "no tracee");
}

int main(int argc, char **argv) {
    steps = argc > 1 ? atoi(argv[1]) : steps;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 3; i++) {
        refused();
        trace_willing_child();
        by_vfork();
        attach();
        seize();
        seize_stopped();
        check_work();
    }
    return right();
}

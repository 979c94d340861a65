/* Starts, stops and awaits child processes by ptrace. */
#include "child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/x86_64/stub.h"
#include "base/mem.h"
#include "target/memory.h"

enum { PAGE = 4096, PATIENCE_S = 110 };

/* The agent in the test's memory, and thus in each child's. */
static uint8_t *agent;

static void map_agent(void) {
    agent = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(agent != MAP_FAILED);
    memcpy(agent, agent_bytes, agent_size);
    assert_int_equal(mprotect(agent, PAGE, PROT_READ | PROT_EXEC), 0);
    alarm(PATIENCE_S); /* ends a test that hangs, and its children */
}

pid_t child_start(int (*body)(void *arg), void *arg) {
    if (!agent)
        map_agent();
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* lets a test's sibling trace the child */
    if (getppid() != parent)
        _exit(99);
    _exit(body(arg));
}

int child_end(pid_t pid) {
    int status;
    pid_t got;
    do
        got = waitpid(pid, &status, __WALL);
    while (got < 0 && errno == EINTR);
    assert_int_equal(got, pid);
    assert_false(WIFSTOPPED(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child_kill(pid_t pid) {
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, __WALL) >= 0)
        ;
}

struct stop child_await_stop(pid_t pid) {
    struct stop stop = {STOP_NONE, 0};
    assert_int_equal(thread_wait(pid, &stop), 0);
    return stop;
}

void child_await_signal(pid_t pid, int sig) {
    const struct stop stop = child_await_stop(pid);
    assert_int_equal(stop.kind, STOP_SIGNAL);
    assert_int_equal(stop.signal, sig);
}

void child_stop(pid_t pid) {
    assert_int_equal(thread_interrupt(pid), 0);
    const struct stop stop = child_await_stop(pid);
    if (stop.kind != STOP_INTERRUPT && stop.kind != STOP_GROUP)
        fail_msg("stopped by signal %d", stop.signal);
}

void child_seize(pid_t pid) {
    assert_int_equal(thread_seize(pid, NULL), 0);
    child_stop(pid);
}

void child_stop_within(pid_t pid, const uint8_t *start, const uint8_t *end) {
    struct regs regs;
    for (;;) {
        child_stop(pid);
        assert_int_equal(thread_get_regs(pid, &regs), 0);
        if (regs_pc(&regs) >= (taddr_t)start && regs_pc(&regs) < (taddr_t)end)
            return;
        assert_int_equal(thread_continue(pid, 0), 0);
    }
}

/* The system call that a process is blocked in; −1: none. */
static long blocked_in(pid_t pid) {
    AUTO_FREE char *name = mem_printf("/proc/%d/syscall", pid);
    FILE *f = fopen(name, "re");
    long number = -1;
    assert_non_null(f);
    int n = fscanf(f, "%ld", &number); /* the file then contains "running", no number */
    fclose(f);
    return n == 1 ? number : -1;
}

void child_await_call(pid_t pid, long number) {
    for (;;) {
        siginfo_t ended = {0}; /* stays 0 if the process is no child of the caller */
        long now = blocked_in(pid);
        if (now == number || now == SYS_restart_syscall)
            return;
        waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL);
        /* waitid() reports stops of tracees, even if not requested. */
        if (ended.si_pid && ended.si_code != CLD_TRAPPED)
            fail_msg("the child ended with %d before call %ld", ended.si_status, number);
        sched_yield();
    }
}

void await_word(const uint32_t *word) {
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
        sched_yield();
}

void *shared_new(size_t size) {
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

struct remote_site child_site(pid_t pid) {
    struct remote_site site = {.code = (taddr_t)agent + agent_entries().syscall,
                               .series = (taddr_t)agent + agent_entries().series};
    assert_int_equal(memory_open(pid, &site.memory_fd, NULL), 0);
    return site;
}

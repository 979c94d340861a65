/* Reads names, parents and stacks of processes and threads from /proc and registers. */
#include "tracer/identity.h"

#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/clock.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/program_path.h"
#include "target/status.h"
#include "target/thread.h"

/* The kernel's links to files that are open tell nothing of a program's name. */
static bool is_of_kernel(const char *path) {
    static const char *const folders[] = {"/proc/", "/dev/fd/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

/* The path by which PID's program was started, a link perhaps. False: it is not known. */
static bool started_by(pid_t pid, char path[PROGRAM_PATH_ROOM]) {
    taddr_t at;
    int fd;
    if (memory_open(pid, &fd, NULL) < 0)
        return false;
    bool known = program_path(pid, fd, path, &at) && !is_of_kernel(path);
    close(fd);
    return known;
}

static void executed_file(pid_t pid, char path[PROGRAM_PATH_ROOM]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t n = readlink(link, path, PROGRAM_PATH_ROOM - 1);
    path[n > 0 ? n : 0] = '\0';
    maps_use_former_name(path);
}

void identity_of_process(pid_t pid, struct identity *ret) {
    char path[PROGRAM_PATH_ROOM];
    if (!started_by(pid, path))
        executed_file(pid, path);
    const char *slash = strrchr(path, '/');
    snprintf(ret->command, sizeof ret->command, "%.255s", slash ? slash + 1 : path);
    ret->parent = status_parent_of(pid);
}

/* How large the stacks of TID's process may become. */
static uint64_t stack_limit(pid_t tid) {
    static const uint64_t usual = 8 << 20;
    struct rlimit limit;
    if (prlimit(tid, RLIMIT_STACK, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return usual;
    return limit.rlim_cur < usual ? usual : limit.rlim_cur;
}

/* The range of the first thread's stack, with the room it may grow into. */
static void first_stack(pid_t tid, const struct map *m, struct trace_thread *ret) {
    ret->stack_low = m->end - stack_limit(tid);
    ret->stack_high = m->end;
}

/* The map that holds SP. */
static void mapped_stack(pid_t tid, taddr_t sp, struct trace_thread *ret) {
    struct maps maps;
    if (maps_read(tid, &maps, NULL) < 0)
        return;
    const struct map *m = maps_at(&maps, sp);
    if (m && strcmp(m->path, "[stack]") == 0)
        first_stack(tid, m, ret);
    else if (m)
        ret->stack_low = m->start, ret->stack_high = m->end;
    maps_done(&maps);
}

/* KNOWN: its name; "": read it. */
static void name_thread(pid_t tid, pid_t pid, const char *known, struct trace_thread *ret) {
    static char name[32];
    if (*known)
        snprintf(name, sizeof name, "%s", known);
    else
        status_name(tid, name, sizeof name);
    *ret = (struct trace_thread){.pid = (uint32_t)pid, .tid = (uint32_t)tid, .name = name};
    ret->start = clock_ticks();
}

struct span identity_given_stack(pid_t maker, int memory_fd) {
    struct regs regs;
    struct clone_args args;
    long number;
    uint64_t at;
    bool known = thread_get_regs(maker, &regs) == 0 && regs_call(&regs, &number, &at) &&
                 number == SYS_clone3 && memory_read(memory_fd, at, &args, sizeof args, NULL) == 0;
    return known ? (struct span){args.stack, args.stack + args.stack_size} : (struct span){0, 0};
}

void identity_of_thread(const struct task *task, struct trace_thread *ret) {
    enum { ABOVE = 64 * 1024 }; /* thread-local storage and the like */
    const pid_t tid = task->tid, pid = task->pid;
    const struct span *stack = &task->stack;
    struct regs regs;
    name_thread(tid, pid, task->name, ret);
    if (thread_get_regs(tid, &regs) < 0)
        return;
    taddr_t sp = regs_sp(&regs);
    if (sp - 1 - stack->start < stack->end - stack->start) {
        ret->stack_low = stack->start;
        ret->stack_high = stack->end;
    } else if (task->birth.maker && sp == task->birth.sp) {
        return;
    } else if (tid == pid) {
        mapped_stack(tid, sp, ret);
    } else {
        ret->stack_low = sp - stack_limit(tid);
        ret->stack_high = sp + ABOVE;
    }
}

/* It may be in a handler or a coroutine; then that stack is taken for its own. Not so a large map
 * that may hold many stacks. */
void identity_of_running(pid_t tid, pid_t pid, const struct maps *maps, struct trace_thread *ret) {
    enum { BESIDES = 1 << 20 };
    struct regs regs;
    name_thread(tid, pid, "", ret);
    for (size_t i = 0; tid == pid && i < maps->list.count; i++)
        if (strcmp(maps->list.at[i].path, "[stack]") == 0)
            first_stack(tid, &maps->list.at[i], ret);
    if (ret->stack_high || thread_get_regs(tid, &regs) < 0)
        return;
    const struct map *m = maps_at(maps, regs_sp(&regs));
    if (m && m->end - m->start <= stack_limit(tid) + BESIDES)
        ret->stack_low = m->start, ret->stack_high = m->end;
}

/* Finds, fills and restores the memory for a process's first and last remote calls. */
#include "patch/foothold.h"

#include <errno.h>
#include <string.h>

#include "target/memory.h"
#include "target/status.h"

enum { RED_ZONE = 128 };

static bool all_zero(const uint8_t *bytes, size_t size) {
    while (size && *bytes == 0)
        bytes++, size--;
    return size == 0;
}

/*
 * The linker pads the last page of code with zeros (ld's -z separate-code, the default): they are
 * executable, and no code runs into them. Without such padding the last bytes of the last
 * executable map serve; only there would a tool killed right now do harm.
 */
static void find_code(int fd, const struct maps *maps, struct foothold *f) {
    for (size_t i = 0; i < maps->list.count; i++) {
        const struct map *m = &maps->list.at[i];
        if (!m->executable || m->path[0] != '/')
            continue;
        f->code = m->end - sizeof f->code_before;
        if (memory_read(fd, f->code, f->code_before, sizeof f->code_before, NULL) == 0 &&
            all_zero(f->code_before, sizeof f->code_before))
            break;
    }
}

/* Whether TID's stack pointer is outside STACK or well above END. */
static bool is_clear_of(pid_t tid, const struct map *stack, taddr_t end) {
    struct regs regs;
    if (thread_get_regs(tid, &regs) < 0)
        return true; /* it has ended, and its stack is free */
    taddr_t sp = regs_sp(&regs);
    return sp < stack->start || sp >= stack->end || sp - RED_ZONE >= end;
}

/*
 * Nothing lives below a stack pointer. The lowest pages of the first stack are farthest from it:
 * the kernel makes it much longer than programs need at first. Other stacks may be small: their
 * owner knows how much they need (Go's).
 */
static void find_frame(int fd, const struct maps *maps, pid_t tid, struct foothold *f) {
    const struct map *stack = NULL;
    for (size_t i = 0; i < maps->list.count; i++)
        if (strcmp(maps->list.at[i].path, "[stack]") == 0)
            stack = &maps->list.at[i];
    if (!stack || stack->end - stack->start < REMOTE_FRAME_BYTES)
        return;
    taddr_t end = stack->start + REMOTE_FRAME_BYTES;
    if (is_clear_of(tid, stack, end) && is_clear_of(status_process_of(tid), stack, end) &&
        memory_read(fd, stack->start, f->frame_before, sizeof f->frame_before, NULL) == 0)
        f->frame = stack->start;
}

int foothold_take(int fd, const struct maps *maps, pid_t tid, struct foothold *f, struct err *err) {
    f->memory_fd = fd;
    f->code = f->frame = 0;
    find_code(fd, maps, f);
    if (!f->code)
        return err_set(err, ENOEXEC, "remote-call", "target: has no executable memory of a file");
    find_frame(fd, maps, tid, f);
    int rc = memory_read(fd, f->code, f->code_before, sizeof f->code_before, err);
    return rc < 0 ? rc
                  : memory_write(fd, f->code, agent_code() + agent_call(), agent_call_size(), err);
}

int foothold_leave(const struct foothold *f, struct err *err) {
    int rc = memory_write(f->memory_fd, f->code, f->code_before, sizeof f->code_before, err);
    int too = f->frame ? memory_write(f->memory_fd, f->frame, f->frame_before,
                                      sizeof f->frame_before, rc < 0 ? NULL : err)
                       : 0;
    return rc < 0 ? rc : too;
}

struct remote_site foothold_site(const struct foothold *f) {
    const size_t series = agent_series();
    return (struct remote_site){.memory_fd = f->memory_fd,
                                .code = f->code,
                                .frame = f->frame,
                                .series = series ? f->code + series - agent_call() : 0};
}

#include "target/thread.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "target/memory.h"

static int request(int op, pid_t tid, void *addr, void *data) {
    return ptrace(op, tid, addr, data) < 0 ? -errno : 0;
}

int thread_seize(pid_t tid, struct err *err) {
    uintptr_t options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                        PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
    int rc = request(PTRACE_SEIZE, tid, NULL, (void *)options);
    if (rc < 0)
        return err_set(err, -rc, "seize", "process %d: cannot trace it: %s", tid, strerror(-rc));
    return 0;
}

int thread_interrupt(pid_t tid) { return request(PTRACE_INTERRUPT, tid, NULL, NULL); }
int thread_continue(pid_t tid, int sig) {
    return request(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)sig);
}
int thread_listen(pid_t tid) { return request(PTRACE_LISTEN, tid, NULL, NULL); }
int thread_step(pid_t tid) { return request(PTRACE_SINGLESTEP, tid, NULL, NULL); }
int thread_detach(pid_t tid, int sig) {
    return request(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)sig);
}

int thread_get_regs(pid_t tid, struct regs *ret) {
    struct iovec io = {&ret->raw, sizeof ret->raw};
    return request(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io);
}

int thread_set_regs(pid_t tid, const struct regs *regs) {
    struct iovec io = {(void *)&regs->raw, sizeof regs->raw};
    return request(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io);
}

int thread_set_lane(pid_t tid, taddr_t lane) {
    return request(PTRACE_POKEUSER, tid, (void *)(uintptr_t)REGS_LANE_OFFSET, (void *)lane);
}

unsigned long thread_event_message(pid_t tid) {
    unsigned long message = 0;
    request(PTRACE_GETEVENTMSG, tid, NULL, &message);
    return message;
}

static int died(struct err *err, pid_t tid, int rc) {
    return err_set(err, -rc, "remote-call", "thread %d: cannot make it call the kernel: %s", tid,
                   strerror(-rc));
}

/* Puts a signal frame with all registers to where the site keeps it, or below the red zone;
 * *ret_sp is what rt_sigreturn needs. */
static int write_frame(pid_t tid, const struct remote_site *site, const struct regs *regs,
                       taddr_t *ret_sp) {
    enum { XSTATE_ROOM = 16384, RED_ZONE = 128 };
    AUTO_FREE uint8_t *xstate = mem_alloc(XSTATE_ROOM);
    struct iovec io = {xstate, XSTATE_ROOM};
    if (request(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io) < 0)
        io.iov_len = 0;
    uint64_t mask = 0;
    int rc = request(PTRACE_GETSIGMASK, tid, (void *)sizeof mask, &mask);
    if (rc < 0)
        return rc;
    if (site->frame && regs_signal_frame_size(io.iov_len) > REMOTE_FRAME_BYTES)
        io.iov_len = 0;
    size_t size = regs_signal_frame_size(io.iov_len);
    AUTO_FREE uint8_t *frame = mem_alloc(size);
    taddr_t at = site->frame ? site->frame : (regs_sp(regs) - RED_ZONE - size) & ~(taddr_t)63;
    regs_signal_frame(frame, at, regs, mask, xstate, io.iov_len);
    *ret_sp = at + 8;
    return memory_write(site->memory_fd, at, frame, size, NULL);
}

int thread_wait(pid_t tid, int *ret_status) {
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) == 0)
            break;
        if (errno != EINTR)
            return -ESRCH;
    }
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
        return -ESRCH;
    return waitpid(tid, ret_status, __WALL) < 0 ? -errno : 0;
}

int thread_finish_exec(pid_t tid, struct err *err) {
    int status = 0;
    int rc = request(PTRACE_SYSCALL, tid, NULL, NULL);
    if (rc == 0)
        rc = thread_wait(tid, &status);
    return rc < 0 ? died(err, tid, rc) : 0;
}

/* Runs the thread to the end of the system call it is set up for. */
static int run_call(pid_t tid) {
    for (int stops = 0; stops < 2;) {
        int rc = request(PTRACE_SYSCALL, tid, NULL, NULL);
        int status;
        if (rc < 0)
            return rc;
        rc = thread_wait(tid, &status);
        if (rc < 0)
            return rc;
        if (WSTOPSIG(status) == (SIGTRAP | 0x80))
            stops++;
        else if (status >> 16 == 0) /* a signal, before or in the call: keep it for later */
            return -EINTR;
    }
    return 0;
}

int thread_call(pid_t tid, const struct remote_site *site, const struct remote_call *call,
                int64_t *ret_result, struct err *err) {
    struct regs saved, regs;
    int rc = thread_get_regs(tid, &saved);
    if (rc < 0)
        return died(err, tid, rc);
    regs_finish_restart(&saved);
    taddr_t sp = regs_sp(&saved);
    rc = write_frame(tid, site, &saved, &sp);
    if (rc < 0)
        return died(err, tid, rc);
    /* No signal may come between: it would run a handler on registers that are not the thread's. */
    uint64_t mask = 0, all = ~(uint64_t)0;
    request(PTRACE_GETSIGMASK, tid, (void *)sizeof mask, &mask);
    request(PTRACE_SETSIGMASK, tid, (void *)sizeof all, &all);
    regs = saved;
    regs_set_syscall(&regs, site->code, sp, call->number, call->args);
    rc = thread_set_regs(tid, &regs);
    if (rc == 0)
        rc = run_call(tid);
    if (rc == 0)
        rc = thread_get_regs(tid, &regs);
    int back = thread_set_regs(tid, &saved);
    request(PTRACE_SETSIGMASK, tid, (void *)sizeof mask, &mask);
    if (rc < 0 || back < 0)
        return died(err, tid, rc < 0 ? rc : back);
    *ret_result = regs_syscall_result(&regs);
    return 0;
}

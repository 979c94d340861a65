/* Notes calls that a stop has cut short, and lets tasks make the remainder in the agent. */
#include "tracer/syscall_resume.h"

#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "patch/leftovers.h"
#include "target/memory.h"
#include "target/status.h"

/* Whether TASK's lane, or a killed spoor's, may say that TASK makes a remainder. */
static bool may_be_in_remainder(const struct task *task) {
    return task->space->inherited ||
           (task->lane && !task->lane->unread && task->lane->lane->remainder.back);
}

/* Reads the remainder from the lane of TASK, which has REGS. */
static bool read_remainder(const struct task *task, const struct regs *regs,
                           struct remainder *ret) {
    const struct space *space = task->space;
    if (!space->inherited) {
        *ret = task->lane->lane->remainder;
        return true;
    }
    taddr_t lane = remainder_is_running(regs, space->agent) ? remainder_lane(regs) : 0;
    return leftovers_is_lane(space, lane) &&
           memory_read(space->remote.memory_fd, lane + LANE_REMAINDER, ret, sizeof *ret, NULL) == 0;
}

/* A program may redirect its system calls to a handler (PR_SET_SYSCALL_USER_DISPATCH). Then the
 * kernel has refused the remainder, which is not the program's own call: the handler must not get
 * the signal. */
void syscall_resume_end(struct task *task) {
    const struct space *space = task->space;
    struct regs regs;
    struct remainder remainder;
    task->cut.is_cut = false;
    if (!space || !space->agent || !may_be_in_remainder(task) ||
        thread_get_regs(task->tid, &regs) < 0 || !read_remainder(task, &regs, &remainder))
        return;
    if (task->lane)
        task->lane->lane->remainder.back = 0;
    if (!remainder_is_running(&regs, space->agent))
        return;
    bool refused = task->stop.kind == STOP_SIGNAL && task->stop.signal == SIGSYS;
    if (refused)
        remainder_give_up(&regs, &remainder);
    else
        task->cut.is_cut = remainder_end(&regs, space->agent, &remainder, &task->cut.call);
    thread_set_regs(task->tid, &regs);
    if (refused)
        task_drop_stop(task);
}

void syscall_resume_note(struct task *task, const struct regs *regs) {
    if (task->cut.is_cut)
        return;
    task->cut.of = remainder_needed(regs, &task->cut.call);
    task->cut.is_cut =
        task->cut.of != REMAINDER_OF_NONE &&
        thread_returned_from_syscall(task->tid, &task->past, regs, &task->cut.call.args[0]);
}

static int copy_of_file(const struct task *task, int fd) {
    AUTO_FD int process = (int)syscall(SYS_pidfd_open, task->pid, 0);
    return process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
}

/* The value of OPTION; 0: FILE is not a socket. */
static int socket_option(int file, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return file >= 0 && getsockopt(file, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

/* Numbers: linux/major.h, Documentation/admin-guide/devices.txt. */
static bool is_terminal(unsigned major_number) {
    return major_number == 4 || major_number == 5 || (major_number >= 128 && major_number <= 143);
}

static bool is_endless(unsigned major_number, unsigned minor_number) {
    enum { MEMORY = 1, ZERO = 5, RANDOM = 8, URANDOM = 9 };
    return major_number == MEMORY &&
           (minor_number == ZERO || minor_number == RANDOM || minor_number == URANDOM);
}

/* How many bytes end a read of FILE, a terminal or a socket; 0: unknown, or it depends on time. */
static size_t least_read(int file) {
    struct termios t;
    if (file >= 0 && tcgetattr(file, &t) == 0)
        return t.c_lflag & ICANON || t.c_cc[VTIME] ? 0 : t.c_cc[VMIN];
    return socket_option(file, SO_TYPE) == SOCK_STREAM ? (size_t)socket_option(file, SO_RCVLOWAT)
                                                       : 0;
}

/* Whether a read of FD, of status ST, waits for more bytes. Lowers the call's wanted bytes to the
 * amount that FD waits for. */
static bool waits_to_read(struct task *task, int fd, const struct stat *st) {
    if (S_ISCHR(st->st_mode) && is_endless(major(st->st_rdev), minor(st->st_rdev)))
        return true;
    if (task->cut.call.in != REMAINDER_IN_ONE || (!S_ISCHR(st->st_mode) && !S_ISSOCK(st->st_mode)))
        return false;
    AUTO_FD int file = copy_of_file(task, fd);
    size_t least = least_read(file);
    if (task->cut.call.wanted > least)
        task->cut.call.wanted = least;
    return task->cut.call.done < task->cut.call.wanted;
}

static bool is_pipe(const struct task *task, int fd) {
    AUTO_FREE char *name = mem_printf("/proc/%d/fd/%d", task->tid, fd);
    struct stat st;
    return stat(name, &st) == 0 && S_ISFIFO(st.st_mode);
}

static bool is_wanted(struct task *task) {
    enum { SPLICED_TO = 2 };
    const int fd = (int)task->cut.call.args[0];
    AUTO_FREE char *name = mem_printf("/proc/%d/fd/%d", task->tid, fd);
    struct stat st;
    if (task->cut.of == REMAINDER_OF_ANYTHING)
        return true;
    if (task->cut.of == REMAINDER_OF_PIPE)
        return is_pipe(task, fd) && !is_pipe(task, (int)task->cut.call.args[SPLICED_TO]);
    if (stat(name, &st) < 0)
        return false;
    if (task->cut.of == REMAINDER_OF_READING)
        return waits_to_read(task, fd, &st);
    if (task->cut.of == REMAINDER_OF_WRITING)
        return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
               (S_ISCHR(st.st_mode) && is_terminal(major(st.st_rdev)));
    AUTO_FD int file = S_ISSOCK(st.st_mode) ? copy_of_file(task, fd) : -1;
    int type = socket_option(file, SO_TYPE);
    return task->cut.of == REMAINDER_OF_STREAM ? type == SOCK_STREAM
                                               : type == SOCK_DGRAM || type == SOCK_SEQPACKET;
}

/* ---- data in pieces ---- */

enum { MOST_PIECES = 1024 /* UIO_MAXIOV */, PIECE = 2 /* words: address, size */ };

struct pieces {
    taddr_t at;
    uint64_t count;
};

/* Skips the first DONE bytes of ALL, in TASK's memory, which has *RET_BYTES bytes. Returns the
 * number of pieces left; 0: unreadable, or too many. */
static size_t pieces_left(const struct task *task, const struct pieces *all, uint64_t done,
                          struct remainder *ret, uint64_t *ret_bytes) {
    regs_word_t words[MOST_PIECES][PIECE];
    size_t left = 0;
    *ret_bytes = 0;
    if (all->count > MOST_PIECES || memory_read(task->space->remote.memory_fd, all->at, words,
                                                all->count * sizeof *words, NULL) < 0)
        return 0;
    for (size_t i = 0; i < all->count; i++) {
        uint64_t size = words[i][1], skip = done < size ? done : size;
        *ret_bytes += size;
        done -= skip;
        if (skip == size)
            continue;
        if (left == REMAINDER_VECTOR)
            return 0;
        ret->vector[left][0] = (uintptr_t)(words[i][0] + skip);
        ret->vector[left++][1] = (uintptr_t)(size - skip);
    }
    return left;
}

/* Sets the pieces in RET. False: the remainder cannot be made. (When a part of a message is
 * received, the room for its control data is overwritten.) */
static bool set_remaining_pieces(struct task *task, struct remainder *ret) {
    enum { NAME, NAME_SIZE, PIECES, COUNT, CONTROL, CONTROL_SIZE }; /* words of struct msghdr */
    struct pieces all = {task->cut.call.args[1], task->cut.call.args[2]};
    if (task->cut.call.in == REMAINDER_IN_MESSAGE) {
        bool receives = task->cut.of == REMAINDER_OF_STREAM;
        if (memory_read(task->space->remote.memory_fd, all.at, ret->message, sizeof ret->message,
                        NULL) < 0 ||
            (receives && ret->message[CONTROL]))
            return false;
        if (receives)
            ret->message[NAME] = ret->message[NAME_SIZE] = 0;
        all = (struct pieces){ret->message[PIECES], ret->message[COUNT]};
    }
    size_t left = pieces_left(task, &all, task->cut.call.done, ret, &task->cut.call.wanted);
    ret->message[PIECES] =
        (uintptr_t)(task->lane->at + LANE_REMAINDER + offsetof(struct remainder, vector));
    ret->message[COUNT] = left;
    ret->message[CONTROL] = ret->message[CONTROL_SIZE] = 0; /* sent with the first part */
    return left;
}

/* Sets the arguments of the remainder that point at pieces. */
static void set_pieces(const struct task *task, uint64_t args[CALL_ARGUMENTS],
                       const struct remainder *remainder) {
    taddr_t at = task->lane->at + LANE_REMAINDER;
    if (task->cut.call.in == REMAINDER_IN_MESSAGE)
        args[1] = at + offsetof(struct remainder, message);
    if (task->cut.call.in != REMAINDER_IN_VECTOR)
        return;
    args[1] = at + offsetof(struct remainder, vector);
    args[2] = remainder->message[3];
}

/* ---- the remainder ---- */

/* A sandbox might judge the call by its address, and watched tasks would stop at it. */
static bool may_make(const struct task *task) {
    const struct space *s = task->space;
    return s && s->agent && !s->traps.set && !s->traps.any && s->reads.state != READS_WATCHED &&
           !s->inherited && !task->watched && task->lane && !task->lane->unread &&
           lane_lookup_lane(s, task->tid) == task->lane->at &&
           status_seccomp_filters(task->tid) <= s->filters;
}

/* Makes sure that TASK, with REGS, comes back from the remainder. False: it cannot. */
static bool prepare_return(const struct task *task, const struct regs *regs,
                           struct remainder *remainder) {
    size_t size;
    uint8_t *frame = remainder_frame(remainder, &size);
    if (!frame)
        return true;
    taddr_t at = task->lane->at + LANE_REMAINDER + (taddr_t)(frame - (uint8_t *)remainder);
    return !thread_guards_returns(task->tid) && /* a shadow stack would have to know of the frame */
           thread_signal_frame(task->tid, regs, at, frame, size) == 0;
}

bool syscall_resume_remainder(struct task *task) {
    struct regs regs;
    struct remainder remainder = {.result = 0};
    uint64_t args[CALL_ARGUMENTS];
    if (!task->cut.is_cut)
        return false;
    task->cut.is_cut = false;
    if (!may_make(task) || thread_get_regs(task->tid, &regs) < 0 ||
        !remainder_is_at_call(&regs, &task->cut.call) || !is_wanted(task) ||
        (task->cut.call.in != REMAINDER_IN_ONE && !set_remaining_pieces(task, &remainder)) ||
        !prepare_return(task, &regs, &remainder))
        return false;
    const struct remainder_place place = {task->space->agent, task->lane->at};
    remainder_arguments(&task->cut.call, args);
    set_pieces(task, args, &remainder);
    remainder_begin(&regs, &place, &task->cut.call, args, &remainder);
    task->lane->lane->remainder = remainder;
    if (thread_set_regs(task->tid, &regs) == 0)
        return true;
    task->lane->lane->remainder.back = 0;
    return false;
}

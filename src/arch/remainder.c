/* Which system calls wait until all bytes are transferred, on all hosts. Numbers and arguments:
 * syscall(2), and the manual page of each call. */
#include "arch/remainder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

/* Linux include/linux/errno.h: seen by tracers only. */
enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };

enum { MOST_BYTES = 0x7ffff000 /* MAX_RW_COUNT */, MOST_MESSAGES = 1024 /* UIO_MAXIOV */ };

static const struct shape {
    int number, count, place; /* count: the argument that says how much, from 0 on; −1: memory does.
                                 place: the argument that points there; −1: none */
    enum remainder_of of;
    enum remainder_in in;
    size_t unit,
        most; /* unit: bytes of place for one of count; most: the kernel's limit of count */
} shapes[] = {
    {SYS_write, 2, 1, REMAINDER_OF_WRITING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_sendto, 2, 1, REMAINDER_OF_WRITING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_recvfrom, 2, 1, REMAINDER_OF_READING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_read, 2, 1, REMAINDER_OF_READING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_pread64, 2, 1, REMAINDER_OF_READING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_sendfile, 3, -1, REMAINDER_OF_ANYTHING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_copy_file_range, 4, -1, REMAINDER_OF_ANYTHING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_splice, 4, -1, REMAINDER_OF_PIPE, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_getrandom, 1, 0, REMAINDER_OF_ANYTHING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_recvmmsg, 2, 1, REMAINDER_OF_ANYTHING, REMAINDER_IN_ONE, sizeof(struct mmsghdr),
     MOST_BYTES},
    {SYS_sendmmsg, 2, 1, REMAINDER_OF_PACKETS, REMAINDER_IN_ONE, sizeof(struct mmsghdr),
     MOST_MESSAGES},
    {SYS_writev, -1, 1, REMAINDER_OF_WRITING, REMAINDER_IN_VECTOR, 1, 0},
    {SYS_sendmsg, -1, 1, REMAINDER_OF_WRITING, REMAINDER_IN_MESSAGE, 1, 0},
    {SYS_readv, -1, 1, REMAINDER_OF_READING, REMAINDER_IN_VECTOR, 1, 0},
    {SYS_preadv, -1, 1, REMAINDER_OF_READING, REMAINDER_IN_VECTOR, 1, 0},
    {SYS_preadv2, -1, 1, REMAINDER_OF_READING, REMAINDER_IN_VECTOR, 1, 0},
    {SYS_recvmsg, -1, 1, REMAINDER_OF_STREAM, REMAINDER_IN_MESSAGE, 1, 0},
#ifdef SYS_send /* calls of 32-bit machines, besides those above */
    {SYS_send, 2, 1, REMAINDER_OF_WRITING, REMAINDER_IN_ONE, 1, MOST_BYTES},
    {SYS_recv, 2, 1, REMAINDER_OF_READING, REMAINDER_IN_ONE, 1, MOST_BYTES},
#endif
#ifdef SYS_sendfile64
    {SYS_sendfile64, 3, -1, REMAINDER_OF_ANYTHING, REMAINDER_IN_ONE, 1, MOST_BYTES},
#endif
#ifdef SYS_recvmmsg_time64
    {SYS_recvmmsg_time64, 2, 1, REMAINDER_OF_ANYTHING, REMAINDER_IN_ONE, sizeof(struct mmsghdr),
     MOST_BYTES},
#endif
};

enum { FLAGS = 3, MESSAGE_FLAGS = 2, LIMIT = 4, SPLICE_FLAGS = 5 }; /* arguments */

static const struct shape *shape_of(long number) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].number == number)
            return &shapes[i];
    return NULL;
}

static enum remainder_of unless(bool condition, enum remainder_of of) {
    return condition ? REMAINDER_OF_NONE : of;
}

/* OF, or what the call's flags make of it. */
static enum remainder_of with_flags(const struct past_call *past, enum remainder_of of) {
    const uint64_t never = MSG_DONTWAIT | MSG_PEEK | MSG_OOB | MSG_ERRQUEUE;
    const uint64_t flags = past->args[FLAGS], message_flags = past->args[MESSAGE_FLAGS];
    switch (past->number) {
#ifdef SYS_recv
    case SYS_recv:
#endif
    case SYS_recvfrom:
        return unless(flags & never, flags & MSG_WAITALL ? REMAINDER_OF_STREAM : of);
    case SYS_recvmsg:
        return unless(!(message_flags & MSG_WAITALL) || message_flags & never, of);
#ifdef SYS_recvmmsg_time64
    case SYS_recvmmsg_time64:
#endif
    case SYS_recvmmsg: /* without a time limit */
        return unless(flags & (never | MSG_WAITFORONE) || past->args[LIMIT], of);
#ifdef SYS_send
    case SYS_send:
#endif
    case SYS_sendto:
    case SYS_sendmmsg:
        return unless(flags & never, of);
    case SYS_sendmsg:
        return unless(message_flags & never, of);
    default:
        return of;
    }
}

enum remainder_of remainder_needed(const struct regs *regs, struct remainder_call *ret) {
    struct past_call past;
    if (!regs_past_call(regs, &past) || past.result <= 0)
        return REMAINDER_OF_NONE;
    const struct shape *shape = shape_of(past.number);
    enum remainder_of of = shape ? with_flags(&past, shape->of) : REMAINDER_OF_NONE;
    if (of == REMAINDER_OF_NONE)
        return of;
    *ret = (struct remainder_call){.number = past.number,
                                   .in = shape->in,
                                   .done = (uint64_t)past.result,
                                   .back = regs_pc(regs)};
    memcpy(ret->args, past.args, sizeof ret->args);
    if (shape->count < 0)
        return of;
    uint64_t wanted = past.args[shape->count];
    ret->wanted = wanted < shape->most ? wanted : shape->most;
    return unless(ret->done >= ret->wanted, of);
}

bool call_can_be_repeated(const struct past_call *past) {
    enum { SIZE = 2 };
    const uint64_t flags = MSG_PEEK | MSG_WAITALL;
    bool receives = past->number == SYS_recvfrom;
#ifdef SYS_recv
    receives |= past->number == SYS_recv;
#endif
    return receives && past->result > 0 && (uint64_t)past->result < past->args[SIZE] &&
           (past->args[FLAGS] & (flags | MSG_DONTWAIT)) == flags;
}

void remainder_arguments(const struct remainder_call *call, uint64_t ret[CALL_ARGUMENTS]) {
    const struct shape *shape = shape_of(call->number);
    memcpy(ret, call->args, sizeof call->args);
    if (shape->count >= 0)
        ret[shape->count] = call->wanted - call->done;
    if (call->number == SYS_splice) /* it must not wait until the pipe is filled again */
        ret[SPLICE_FLAGS] |= SPLICE_F_NONBLOCK;
    if (shape->count >= 0 && shape->place >= 0)
        ret[shape->place] += call->done * shape->unit;
}

void remainder_fill(const struct remainder_call *call, struct remainder *ret) {
    ret->back = call->back;
    ret->number = (uint64_t)call->number;
    ret->done = call->done;
    ret->wanted = call->wanted;
    memcpy(ret->registers, call->args, sizeof ret->registers);
}

bool remainder_was_interrupted(int64_t result) {
    return result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK);
}

bool remainder_add_result(const struct remainder *remainder, int64_t result,
                          struct remainder_call *ret) {
    long number = (long)remainder->number;
    *ret = (struct remainder_call){.number = number,
                                   .in = shape_of(number)->in,
                                   .done = remainder->done + (result > 0 ? (uint64_t)result : 0),
                                   .wanted = remainder->wanted,
                                   .back = remainder->back};
    memcpy(ret->args, remainder->registers, sizeof ret->args);
    return ret->done < ret->wanted;
}

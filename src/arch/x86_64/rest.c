#include "arch/rest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "arch/x86_64/stub.h"

typedef unsigned long long word;

/* Linux include/linux/errno.h: seen by tracers only. */
enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };

enum { MOST_BYTES = 0x7ffff000 /* MAX_RW_COUNT */, MOST_MESSAGES = 1024 /* UIO_MAXIOV */ };

/* Which of the arguments says how much (-1: memory does), and which where that is, counted from 0,
 * if any; what of it the place goes on by; more than how many the kernel takes for as many. */
static const struct shape {
    int number, count, place;
    enum rest_of of;
    enum rest_in in;
    size_t unit, most;
} shapes[] = {
    {SYS_write, 2, 1, REST_OF_WRITING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_sendto, 2, 1, REST_OF_WRITING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_recvfrom, 2, 1, REST_OF_READING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_read, 2, 1, REST_OF_READING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_pread64, 2, 1, REST_OF_READING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_sendfile, 3, -1, REST_OF_ANYTHING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_copy_file_range, 4, -1, REST_OF_ANYTHING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_splice, 4, -1, REST_OF_PIPE, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_getrandom, 1, 0, REST_OF_ANYTHING, REST_IN_ONE, 1, MOST_BYTES},
    {SYS_recvmmsg, 2, 1, REST_OF_ANYTHING, REST_IN_ONE, sizeof(struct mmsghdr), MOST_BYTES},
    {SYS_sendmmsg, 2, 1, REST_OF_PACKETS, REST_IN_ONE, sizeof(struct mmsghdr), MOST_MESSAGES},
    {SYS_writev, -1, 1, REST_OF_WRITING, REST_IN_VECTOR, 1, 0},
    {SYS_sendmsg, -1, 1, REST_OF_WRITING, REST_IN_MESSAGE, 1, 0},
    {SYS_readv, -1, 1, REST_OF_READING, REST_IN_VECTOR, 1, 0},
    {SYS_preadv, -1, 1, REST_OF_READING, REST_IN_VECTOR, 1, 0},
    {SYS_preadv2, -1, 1, REST_OF_READING, REST_IN_VECTOR, 1, 0},
    {SYS_recvmsg, -1, 1, REST_OF_STREAM, REST_IN_MESSAGE, 1, 0}};

enum { ARGUMENTS = REST_REGISTER_COUNT, SPLICE_FLAGS = 5 };

static word *argument(struct user_regs_struct *r, int number) {
    word *const all[ARGUMENTS] = {&r->rdi, &r->rsi, &r->rdx, &r->r10, &r->r8, &r->r9};
    return all[number];
}

static const struct shape *shape_of(long number) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].number == number)
            return &shapes[i];
    return NULL;
}

/* What its first argument must be with the flags that it has. */
static enum rest_of with_flags(const struct user_regs_struct *r, enum rest_of of) {
    const word never = MSG_DONTWAIT | MSG_PEEK | MSG_OOB | MSG_ERRQUEUE;
    switch ((long)r->orig_rax) {
    case SYS_recvfrom:
        if (r->r10 & never)
            return REST_OF_NONE;
        return r->r10 & MSG_WAITALL ? REST_OF_STREAM : of;
    case SYS_recvmsg:
        return r->rdx & MSG_WAITALL && !(r->rdx & never) ? of : REST_OF_NONE;
    case SYS_recvmmsg: /* without a time limit */
        return r->r10 & (never | MSG_WAITFORONE) || r->r8 ? REST_OF_NONE : of;
    case SYS_sendto:
    case SYS_sendmmsg:
        return r->r10 & never ? REST_OF_NONE : of;
    case SYS_sendmsg:
        return r->rdx & never ? REST_OF_NONE : of;
    default:
        return of;
    }
}

enum rest_of rest_is_due(const struct regs *regs, struct rest_call *ret) {
    struct user_regs_struct r = regs->raw;
    const struct shape *shape = (long)r.orig_rax < 0 ? NULL : shape_of((long)r.orig_rax);
    enum rest_of of = shape && (long)r.rax > 0 ? with_flags(&r, shape->of) : REST_OF_NONE;
    if (of == REST_OF_NONE)
        return of;
    *ret = (struct rest_call){shape->number, shape->in, r.rax, 0, r.rip};
    if (shape->count < 0)
        return of;
    word wanted = *argument(&r, shape->count);
    ret->wanted = wanted < shape->most ? wanted : shape->most;
    return r.rax >= ret->wanted ? REST_OF_NONE : of;
}

bool rest_is_where(const struct regs *regs, const struct rest_call *call) {
    return regs->raw.rip == call->back && regs->raw.rax == call->done;
}

uint64_t rest_argument(const struct regs *regs, int number) {
    struct user_regs_struct r = regs->raw;
    return *argument(&r, number);
}

void rest_set_argument(struct regs *regs, int number, uint64_t value) {
    *argument(&regs->raw, number) = value;
}

void rest_begin(struct regs *regs, taddr_t agent, const struct rest_call *call, struct rest *ret) {
    struct user_regs_struct *r = &regs->raw;
    const struct shape *shape = shape_of(call->number);
    ret->back = call->back;
    ret->number = (uint64_t)call->number;
    ret->done = call->done;
    ret->wanted = call->wanted;
    for (int i = 0; i < ARGUMENTS; i++)
        ret->registers[i] = *argument(r, i);
    if (shape->count >= 0)
        *argument(r, shape->count) = call->wanted - call->done;
    if (call->number == SYS_splice) /* it does not wait until the pipe is filled anew */
        *argument(r, SPLICE_FLAGS) |= SPLICE_F_NONBLOCK;
    if (shape->count >= 0 && shape->place >= 0)
        *argument(r, shape->place) += call->done * shape->unit;
    r->rax = (word)call->number;
    r->orig_rax = (word)-1;
    r->rip = agent + agent_entries().rest;
}

bool rest_is_made(const struct regs *regs, taddr_t agent) {
    struct agent_entries e = agent_entries();
    return regs->raw.rip - agent >= e.rest && regs->raw.rip - agent < e.rest_end;
}

/* Whether RESULT says that nothing was done because of the stop: else it would have waited on. */
static bool was_put_off(int64_t result) {
    return result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK);
}

/* Sets *RET_OVER when the rest has come to its end, not by the stop. */
static int64_t result_of(const struct user_regs_struct *r, uint64_t at, const struct rest *rest,
                         bool *ret_over) {
    struct agent_entries e = agent_entries();
    int64_t result = at == e.rest        ? -ERESTARTSYS
                     : at == e.rest_made ? (int64_t)r->rax
                                         : (int64_t)rest->result;
    *ret_over = !was_put_off(result) && (result <= 0 || (long)r->orig_rax < 0);
    return result;
}

static void come_back(struct user_regs_struct *r, const struct rest *rest, uint64_t result) {
    for (int i = 0; i < ARGUMENTS; i++)
        *argument(r, i) = rest->registers[i];
    r->rax = result;
    r->rcx = r->rip = rest->back;
    r->orig_rax = (word)-1;
}

void rest_give_up(struct regs *regs, const struct rest *rest) {
    come_back(&regs->raw, rest, rest->done);
}

bool rest_end(struct regs *regs, taddr_t agent, const struct rest *rest, struct rest_call *ret) {
    struct user_regs_struct *r = &regs->raw;
    uint64_t at = r->rip - agent;
    bool over = true;
    if (at == agent_entries().rest_left) {
        r->rip = r->rcx;
        return false;
    }
    int64_t result = result_of(r, at, rest, &over);
    come_back(r, rest, rest->done + (result > 0 ? (uint64_t)result : 0));
    long number = (long)rest->number;
    *ret = (struct rest_call){number, shape_of(number)->in, r->rax, rest->wanted, rest->back};
    return !over && r->rax < rest->wanted;
}

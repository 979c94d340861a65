/*
 * The code of a capture in a stub (stub.h, STUB_CAPTURE). It writes the values' slots above the
 * lane's head, which it does not move. So nothing is to be undone: a thread that is stopped here
 * for a signal goes back to the site.
 *
 *     mov   %gs:HEAD,%r8
 *     lea   $bytes(%r8),%rcx; cmp %gs:LIMIT,%rcx; jbe 1f
 *     lea   retry|event(%rip),%rdx; mov $bytes|$behind,%ecx; mov $ahead,%r8d
 *     jmp   agent_room|agent_cramped
 *   1:
 *     and   $ring-1,%r8d
 *     cmp   $ring-bytes,%r8d; jbe 2f                             slots stand in one piece
 *     lea   retry(%rip),%rdx; jmp agent_pad
 *   2:
 *     movabs $number<<32|$site,%rcx; mov %rcx,…; mov %rax,…      slot CAPTURE_BEGIN
 *   a value:
 *     mov   …,%rdi
 *     mov   %rdi,…; lea WHOLE|n(%rax),%rcx; mov %rcx,…           slots of its words
 *   a value in st(0):
 *     fxsave64 %gs:X87; mov %gs:X87+…,%rdi                       changes nothing
 *   a value in memory:
 *     mov   …,%rsi
 *     mov   %gs:CONTROL,%rdx; testl $DIED,(%rdx); jnz next       nobody would see a fault
 *     add   $offset,%rsi
 *     lea   -4096(%rsi),%rdi; shr $47,%rdi; jnz next             no user's address
 *     lea   next(%rip),%rdx
 *     mov   (%rsi),%rsi|%rdi                                     may fault: the tool sets pc to rdx
 *     …
 *   next:
 *
 * rax is the clock in an event's format, r8 an index in the ring, rdi a word, rsi an address; rdx
 * and rcx are free. The next slot stands a fixed distance behind r8, `ahead`: slots that are always
 * written do not move r8. A word may also be in a register that holds it at the site. What the stub
 * has saved is read from the stack, except rsi and rdi, while they are as they were. Below rsp, at
 * −8 to −40, is scratch, then lengths of texts.
 *
 * With STUB_PLAIN rcx is the index, and rdx is free and where words are loaded to.
 */
#pragma once

#include "arch/stub.h"

struct capture_code {
    uint8_t *out;
    uint32_t up;           /* from rsp to that at the site */
    int64_t retry, agent;  /* from the code's start */
    int64_t module;        /* to the module's address 0 */
    uint32_t commit_bytes; /* of what follows the code */
    const struct stub_spec *stub;
};

/* Writes the code and returns its size, at most STUB_CAPTURE_BYTES. 0: it has no room for that.
 * *RET_AHEAD: from the index to where the event stands then. */
size_t capture_emit(const struct capture_code *given, uint32_t *ret_ahead);
/* Whether all that C records is in registers and on the stack: STUB_PLAIN is enough then. */
bool capture_is_plain(const struct capture *c);
/* stub_read_switch of struct arch: the jnz behind the look at the tool becomes a jae, which always
 * jumps, as a test clears the carry. One byte is changed, so threads may run there meanwhile. */
uint32_t capture_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);

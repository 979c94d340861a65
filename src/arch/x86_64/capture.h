/*
 * The code of a capture in a stub (stub.h, STUB_CAPTURE). It writes the values' slots above the
 * lane's head, which it does not move. So nothing is to be undone: a thread that is stopped here
 * for a signal goes back to the site.
 *
 *     mov   %gs:HEAD,%rcx
 *     lea   retry|event(%rip),%rdx; mov $bytes|$behind,%esi
 *     lea   $bytes(%rcx),%rdi; cmp %gs:LIMIT,%rdi; ja agent_room|agent_cramped
 *     slot CAPTURE_BEGIN
 *   a value:
 *     mov   …,%rdi
 *     slots of its words
 *   a value in memory:
 *     mov   …,%rsi
 *     mov   %gs:CONTROL,%rdx; testl $DIED,(%rdx); jnz next       nobody would see a fault
 *     add   $offset,%rsi
 *     lea   -4096(%rsi),%r8; shr $47,%r8; jnz next               no user's address
 *     lea   next(%rip),%rdx
 *     mov   (%rsi),%rsi|%rdi                                     may fault: the tool sets pc to rdx
 *     …
 *   next:
 *
 * rax is the clock in an event's format, rcx where the next slot stands, rdi a word, rsi an
 * address; rdx and r8 are free. A register that the stub has saved is read from the stack. Below
 * rsp, at −8 to −40, is scratch, then lengths of texts.
 */
#pragma once

#include "arch/stub.h"

struct capture_code {
    uint8_t *out;
    uint32_t up;           /* from rsp to that at the site */
    int64_t retry, agent;  /* from the code's start */
    uint32_t commit_bytes; /* of what follows the code */
    const struct stub_spec *stub;
};

/* Writes the code and returns its size, at most STUB_CAPTURE_BYTES. 0: it has no room for that. */
size_t capture_emit(const struct capture_code *c);
/* stub_read_switch of struct arch: the jnz behind the look at the tool becomes a jae, which always
 * jumps, as a test clears the carry. One byte is changed, so threads may run there meanwhile. */
uint32_t capture_read_switch(const uint8_t *stub, uint32_t at, uint8_t *ret_byte);

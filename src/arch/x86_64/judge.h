/*
 * The code of a stub that judges calls (stub.h, STUB_JUDGE). rax is a word or an address, rdx where
 * a load that faults goes on, rcx scratch; what these were is on the stack.
 *
 *   a test of an entry's predicate:
 *     mov   …,%rax
 *     mov   %gs:CONTROL,%rdx; testl $DIED,(%rdx); jnz on_false    nobody would see a fault
 *     add   $offset,%rax
 *     lea   -4096(%rax),%rcx; shr $47,%rcx; jnz on_false          no user's address
 *     lea   on_false(%rip),%rdx
 *     mov   (%rax),%rax                                           may fault: goes on at rdx
 *     …
 *     cmp   $constant,%rax; jcc on_true|on_false
 *   behind the tests of an entry, or an exit:
 *     cmpq  $0,%gs:COUNT; je pass                                 nothing is kept
 *     lea   N(%rsp),%rcx                                          the call, as in struct kept_calls
 *     mov   %rcx,%rax; not %rax; cmp %gs:FROM,%rax; jbe keep|go
 *     cmp   %gs:NEWEST,%rax; jb keep                              only of an entry
 *     cmpq  $0,%gs:FULL; jne go
 *     mov   %ecx,%eax; shr $6,%eax; xor %ecx,%eax; and $63<<4,%eax; shl %eax      its set
 *     cmp   %rcx,%gs:SETS(%rax); je go …
 *   pass:
 */
#pragma once

#include "arch/stub.h"

enum { JUDGE_MOST_BYTES = 3072 };

struct judge_code {
    uint8_t *out;
    uint32_t up; /* from rsp to that at the site */
    uint32_t go; /* from the end of the code to where the stub goes on to the event */
    const struct stub_spec *stub;
};

/* Writes the code and returns its size, at most JUDGE_MOST_BYTES. */
size_t judge_emit(const struct judge_code *c);

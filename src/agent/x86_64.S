/*
 * The agent on x86-64: what stubs jump to when a ring is full, the wait of the
 * dynamic linker's hook, and the place where remote system calls are made.
 *
 * A copy stands at the start of each trampoline area. It is position
 * independent, makes no system call of its own, calls nothing, and uses only
 * rax, rcx, rdx and flags, which the stub has saved (or proven dead). So a
 * thread that is stopped here for a signal can be rolled back to its site like
 * one in a stub: rdx tells the stub. It begins with a table of its entry
 * points (struct agent_entries in arch/x86_64/stub.h), each an offset from
 * the start.
 */
#include "wire/ring.h"

    .text
start:
    .short wait - start, wait_released - start
    .short drop - start, drop_released - start, drop_counted - start
    .short hook - start, syscall - start, end - start

    .balign 16
/* OVERFLOW_WAIT: gives the reservation back, waits for room, and begins again at *rdx. */
wait:
    subq $EVENT_BYTES, %gs:LANE_HEAD
wait_released:
    incq %gs:LANE_WAITS
1:  movq %gs:LANE_HEAD, %rax
    cmpq %gs:LANE_LIMIT, %rax
    jb 3f
    movq %gs:LANE_CONTROL, %rcx
    testl $CONTROL_OWNER_DIED, (%rcx)
    jnz 2f
    pause
    jmp 1b
2:  movq $-1, %gs:LANE_LIMIT /* nobody reads any more: the ring goes round for ever */
3:  notrack jmp *%rdx

    .balign 16
/* OVERFLOW_DROP: gives the reservation back, counts, and goes on at *rdx without an event. */
drop:
    subq $EVENT_BYTES, %gs:LANE_HEAD
drop_released:
    incq %gs:LANE_LOST
drop_counted:
    notrack jmp *%rdx

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at *rdx. */
hook:
    movq $1, %gs:LANE_HOOK
    movq %gs:LANE_CONTROL, %rcx
1:  cmpq $0, %gs:LANE_HOOK
    je 2f
    testl $CONTROL_OWNER_DIED, (%rcx)
    jnz 2f
    pause
    jmp 1b
2:  notrack jmp *%rdx

    .balign 16
/* A remote call by the tracer, then the way back if the tracer has died meanwhile: rsp points at a
 * signal frame that holds all registers (target/remote.c). */
syscall:
    syscall
    movl $15, %eax /* rt_sigreturn */
    syscall
    ud2
end:
    .balign 16, 0xcc

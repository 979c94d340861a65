/*
 * The agent on x86-64: what stubs jump to when a ring is full, the wait of the
 * dynamic linker's hook, the place where remote system calls are made, and the
 * bridge by which the tool brings threads out of trampolines.
 *
 * A copy stands at the start of each trampoline area. It is position
 * independent and calls nothing. What stubs come to makes no system call and
 * uses only rax, rcx, rdx and flags, which the stub has saved (or proven dead). So a
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
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start
    .short gate_restored - start, gate_end - start, notes - start

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
/*
 * Where one thread at a time goes over what is left of the straight code of a trampoline, while its
 * signals are blocked (session/crossing.c). The tool writes the instructions here, a jump to the
 * gate, and the notes. The first call of the gate does nothing; at it the tool takes the thread
 * away. Without a tool the thread goes on: the second call gives it its signal mask back, then it
 * is where it would have come to in the trampoline. No flag changes.
 */
bridge:
    .skip BRIDGE_BYTES, 0xcc
gate:
    movabsq %rax, 0 /* the tool writes where; never the stack, which may end right here (Go's) */
gate_saving:
    movq notes + 24(%rip), %rax
    movq %rcx, 8(%rax)
    movq %rdx, 16(%rax)
    movq %rsi, 24(%rax)
    movq %rdi, 32(%rax)
    movq %r10, 40(%rax)
    movq %r11, 48(%rax)
gate_saved:
    movl $14, %eax /* rt_sigprocmask: how, set, old set, size of sets */
    movl $0, %edi  /* SIG_BLOCK */
    movl $0, %esi  /* nothing */
    movl $0, %edx
    movl $8, %r10d
    syscall
    movl $14, %eax
    movl $2, %edi /* SIG_SETMASK */
    leaq notes(%rip), %rsi
    syscall
    movq notes + 24(%rip), %rax
    movq 8(%rax), %rcx
    movq 16(%rax), %rdx
    movq 24(%rax), %rsi
    movq 32(%rax), %rdi
    movq 40(%rax), %r10
    movq 48(%rax), %r11
    movq (%rax), %rax
gate_restored:
    notrack jmp *notes + 16(%rip)
gate_end:
    .balign 8, 0xcc
notes: /* struct bridge_notes in arch/bridge.h */
    .quad 0, 0, 0, 0
    .balign 16, 0xcc

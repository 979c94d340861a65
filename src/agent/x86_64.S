/*
 * The agent on x86-64: what stubs jump to when a ring is full, the wait of the
 * dynamic linker's hook, the place where remote system calls are made, the
 * bridge by which the tool brings threads out of trampolines, and the place where
 * threads make what is left of calls that a stop has cut short.
 *
 * A copy stands at the start of each trampoline area. It is position
 * independent and calls nothing. What stubs come to makes no system call and
 * uses only rax, rcx, rdx, flags and, in slices, rsi, which the stub has saved (or proven dead), and
 * of the stack what a leaf function may use. So a
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
    .short slice - start, hook - start, syscall - start, end - start
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start
    .short gate_restored - start, gate_end - start, notes - start
    .short remainder - start, remainder_made - start, remainder_end - start

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

/* One slot of a slice, which tells of rax, 48 bits; changes rax and rsi. It is written before it is
 * reserved: until then nobody reads it, and it is the one that need not be whole in a ring that is
 * overwritten. */
    .macro slot_tail
    movl %eax, %gs:LANE_RING + EVENT_SP_LOW(%rsi)
    shrq $32, %rax
    movzwl %ax, %eax
    orq -24(%rsp), %rax
    movq %rax, %gs:LANE_RING + EVENT_CLOCK_SP(%rsi)
    .endm
    .macro slot id
    movq %gs:LANE_HEAD, %rsi
    andq %gs:LANE_RING_MASK, %rsi
    movl $(\id * 4 + EVENT_CONTROL_KIND), %gs:LANE_RING + EVENT_SITE(%rsi)
    slot_tail
    incq %gs:LANE_SLICE_SLOTS
    addq $EVENT_BYTES, %gs:LANE_HEAD
    .endm

    .balign 16
/*
 * A slice of the stack from rcx on (STUB_SLICE): as much as is asked for, to the end of the thread's
 * own stack or else of the page, which the stub has just pushed to. (At a page's start that was another
 * one, and nothing is looked at: a coroutine may begin right at the end of its stack, without a return
 * address.) rax: the clock, as events have it; esi: whether to wait for room. What is at -8, -16, … of
 * rsp: the end (0: there is no room), where it begins, the clock, esi. Only these and registers decide
 * what is read: where spoor is gone, threads that were born since share a lane.
 */
slice:
    cmpq $0, %gs:LANE_SLICE_BYTES
    je 9f
    movq %rcx, -16(%rsp)
    movq %rax, -24(%rsp)
    movl %esi, -32(%rsp)
    movq %gs:LANE_CONTROL, %rax
    testl $CONTROL_OWNER_DIED, (%rax)
    jnz 9f
    movq %rcx, %rax
    subq %gs:LANE_STACK_LOW, %rax
    movq %gs:LANE_STACK_BYTES, %rsi
    subq %rax, %rsi
    ja 1f
    xorl %esi, %esi
    testl $4095, %ecx
    jz 2f
    movl %ecx, %esi
    orl $-4096, %esi
    negl %esi
1:  cmpq %gs:LANE_SLICE_BYTES, %rsi
    jbe 2f
    movq %gs:LANE_SLICE_BYTES, %rsi
2:  andq $-8, %rsi
    leaq (%rcx, %rsi), %rax
    movq %rax, -8(%rsp)
    leaq SLICE_HEAD_SLOTS * EVENT_BYTES(, %rsi, EVENT_BYTES / 8), %rsi
    movq %gs:LANE_HEAD, %rax
    addq %rsi, %rax
    cmpq %gs:LANE_LIMIT, %rax
    jbe 5f
    cmpl $0, -32(%rsp)
    je 4f
    incq %gs:LANE_WAITS
3:  movq %gs:LANE_HEAD, %rax
    addq %rsi, %rax
    cmpq %gs:LANE_LIMIT, %rax
    jbe 5f
    movq %gs:LANE_CONTROL, %rax
    testl $CONTROL_OWNER_DIED, (%rax)
    jnz 9f
    pause
    jmp 3b
4:  movq %gs:LANE_HEAD, %rax /* only that there should have been one */
    addq $EVENT_BYTES, %rax
    cmpq %gs:LANE_LIMIT, %rax
    ja 9f
    movq $0, -8(%rsp)
5:  movq %gs:LANE_SLICE_SLOTS, %rax
    slot SLICE_BEGIN_ID
    movq -8(%rsp), %rax
    testq %rax, %rax
    jz 9f
    slot (SLICE_BEGIN_ID + 1)
    .set number, SLICE_BEGIN_ID + 2
    .irp register, rbx, rbp, r12, r13, r14, r15
    movq %\register, %rax
    slot number
    .set number, number + 1
    .endr
6:  cmpq -8(%rsp), %rcx
    jae 9f
    movq (%rcx), %rax
    movq %rax, %rsi
    shrq $47, %rsi
    jnz 7f
    cmpq $0xffff, %rax
    jbe 7f
    movq %gs:LANE_HEAD, %rsi
    andq %gs:LANE_RING_MASK, %rsi
    slot_tail
    movl %ecx, %eax
    subl -16(%rsp), %eax
    shrl $1, %eax
    addl $(SLICE_WORD_ID << 2 | EVENT_CONTROL_KIND), %eax
    movl %eax, %gs:LANE_RING + EVENT_SITE(%rsi)
    incq %gs:LANE_SLICE_SLOTS
    addq $EVENT_BYTES, %gs:LANE_HEAD
7:  addq $8, %rcx
    jmp 6b
9:  notrack jmp *%rdx

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at *rdx. Of a lane that is
 * nobody's own the control word says that from the start: there the tool is not asked at all. */
hook:
    movq %gs:LANE_CONTROL, %rcx
    testl $CONTROL_OWNER_DIED, (%rcx)
    jnz 2f
    movq $1, %gs:LANE_HOOK
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
 * signals are blocked (patch/crossing.c). The tool writes the instructions here, a jump to the
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
/*
 * What is left of a call that had transferred some bytes when a stop of ours ended it (tracer/syscall_resume.c).
 * The registers are the call's; where it fails, what was done before is the result. Then all registers
 * are as they would be behind the call, flags and the stack untouched: without a tool the thread goes on,
 * too.
 */
remainder:
    syscall
remainder_made:
    movq %rax, %gs:LANE_REMAINDER + REMAINDER_RESULT
    leaq 512(%rax), %rcx /* ERESTARTSYS: recvmmsg returns that once more, when it can be called again */
    jrcxz 2f
    movzbl %gs:LANE_REMAINDER + REMAINDER_RESULT + 7, %ecx
    jrcxz 1f
    movl $0, %eax
1:  movq %gs:LANE_REMAINDER + REMAINDER_DONE, %rcx
    leaq (%rcx, %rax), %rax
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS, %rdi
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 8, %rsi
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 16, %rdx
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 24, %r10
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 32, %r8
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 40, %r9
    movq %gs:LANE_REMAINDER + REMAINDER_BACK, %rcx
    notrack jmp *%rcx
2:  movq %gs:LANE_REMAINDER + REMAINDER_NUMBER, %rax
    jmp remainder
remainder_end:
    .balign 16, 0xcc

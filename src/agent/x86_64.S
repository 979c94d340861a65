/*
 * The agent on x86-64. It has code for full rings, for the wait of the dynamic linker's hook, and
 * for remote system calls. On its bridge threads leave trampolines. Its last part makes remainders
 * of calls that a stop cut short.
 *
 * A copy stands at the start of each trampoline area. It is position independent and calls nothing.
 * The code that stubs jump to makes no system call. It uses rax, rcx, rdx, flags, in slices rsi, and
 * in texts rsi, rdi and r8, which the stub has saved (or proven dead). It uses the stack below
 * rsp as a leaf function may. So a thread that is stopped here for a signal can be rolled back to its site like
 * one in a stub; rdx is an address in the stub. The agent begins with a table of its entry points
 * (struct agent_entries in arch/x86_64/stub.h), each an offset from the start.
 */
#include "wire/ring.h"

    .text
start:
    .short wait - start, wait_released - start
    .short drop - start, drop_released - start, drop_counted - start
    .short slice - start, hook - start, hook_clock - start, hook_clocked - start
    .short syscall - start, end - start
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start
    .short gate_restored - start, gate_end - start, notes - start
    .short remainder - start, remainder_made - start, remainder_end - start
    .short guard - start, guarded - start
    .short room - start, cramped - start, pad - start
    .short text - start, text_wide - start, text_long - start
    .short text_counted - start, captures_end - start
    .short series - start

/* The wait for room is over: writes the event that tells when it began. At the stub's next try it
 * ends. The slot is reserved after it is written. Changes AT. */
    .macro note_wait at
    movq %gs:LANE_HEAD, %\at
    andq %gs:LANE_RING_MASK, %\at
    movl $(WAIT_ID * 4 + EVENT_CONTROL_KIND), %gs:LANE_RING + EVENT_SITE(%\at)
    movq %rax, %gs:LANE_RING + EVENT_CLOCK_SP(%\at)
    addq $EVENT_BYTES, %gs:LANE_HEAD
    movq $0, %gs:LANE_WAIT_SINCE
    .endm

    .balign 16
/* OVERFLOW_WAIT: gives the reservation back, waits for room, and starts again at *rdx. rax: the
 * clock, in an event's format. */
wait:
    subq $EVENT_BYTES, %gs:LANE_HEAD
wait_released:
    incq %gs:LANE_WAITS
    movq %rax, %gs:LANE_WAIT_SINCE
wait_for_room:
    movq %gs:LANE_HEAD, %rcx
    cmpq %gs:LANE_LIMIT, %rcx
    jb wait_over
    movq %gs:LANE_CONTROL, %rcx
    testl $CONTROL_OWNER_DIED, (%rcx)
    jnz wait_without_tool
    pause
    jmp wait_for_room
wait_without_tool:
    movq $-1, %gs:LANE_LIMIT /* nothing reads the ring any more: overwrite it for ever */
    notrack jmp *%rdx
wait_over:
    note_wait rcx
    notrack jmp *%rdx

    .balign 16
/* OVERFLOW_DROP: gives the reservation back, counts a lost event, and goes on at *rdx. */
drop:
    subq $EVENT_BYTES, %gs:LANE_HEAD
drop_released:
    incq %gs:LANE_LOST
drop_counted:
    notrack jmp *%rdx

/* Writes one slot of a slice with the value rax, 48 bits; changes rax and rsi. The slot is reserved
 * after it is written. Until then it is not read: readers of overwritten rings leave out the slot
 * at the head. */
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
 * Records a slice of the stack from rcx on (STUB_SLICE): LANE_SLICE_BYTES, but only to the end of
 * the thread's own stack. On other stacks it ends with the page, to which the stub has just pushed.
 * If rcx is a page's start, the pushes went to the page below, and nothing is read: a coroutine may
 * begin right at the end of its stack, without a return address.
 *
 * rax: the clock, in an event's format. esi: whether to wait for room. Below rsp: at -8 the slice's
 * end (0: no room), at -16 its start, at -24 the clock, at -32 esi. Only these and registers decide
 * what is read, since threads that are born after spoor's death share a lane.
 */
slice:
    cmpq $0, %gs:LANE_SLICE_BYTES
    je slice_done
    movq %rcx, -16(%rsp)
    movq %rax, -24(%rsp)
    movl %esi, -32(%rsp)
    movq %gs:LANE_CONTROL, %rax
    testl $CONTROL_OWNER_DIED, (%rax)
    jnz slice_done
    movq %rcx, %rax
    subq %gs:LANE_STACK_LOW, %rax
    movq %gs:LANE_STACK_BYTES, %rsi
    subq %rax, %rsi
    ja slice_limit_bytes
    xorl %esi, %esi
    testl $4095, %ecx
    jz slice_reserve
    movl %ecx, %esi
    orl $-4096, %esi
    negl %esi
slice_limit_bytes: /* rsi: bytes that can be read */
    cmpq %gs:LANE_SLICE_BYTES, %rsi
    jbe slice_reserve
    movq %gs:LANE_SLICE_BYTES, %rsi
slice_reserve:
    andq $-8, %rsi
    leaq (%rcx, %rsi), %rax
    movq %rax, -8(%rsp)
    leaq SLICE_HEAD_SLOTS * EVENT_BYTES(, %rsi, EVENT_BYTES / 8), %rsi
    movq %gs:LANE_HEAD, %rax
    addq %rsi, %rax
    cmpq %gs:LANE_LIMIT, %rax
    jbe slice_write
    cmpl $0, -32(%rsp)
    je slice_without_room
    incq %gs:LANE_WAITS
    movq -24(%rsp), %rax
    movq %rax, %gs:LANE_WAIT_SINCE
slice_wait_for_room:
    leaq EVENT_BYTES(%rsi), %rax
    addq %gs:LANE_HEAD, %rax
    cmpq %gs:LANE_LIMIT, %rax
    jbe slice_wait_over
    movq %gs:LANE_CONTROL, %rax
    testl $CONTROL_OWNER_DIED, (%rax)
    jnz slice_done
    pause
    jmp slice_wait_for_room
slice_without_room: /* writes only the first slot: it shows that a slice is missing */
    movq %gs:LANE_HEAD, %rax
    addq $EVENT_BYTES, %rax
    cmpq %gs:LANE_LIMIT, %rax
    ja slice_done
    movq $0, -8(%rsp)
    jmp slice_write
slice_wait_over:
    movq -24(%rsp), %rax
    note_wait rsi
slice_write:
    movq %gs:LANE_SLICE_SLOTS, %rax
    slot SLICE_BEGIN_ID
    movq -8(%rsp), %rax
    testq %rax, %rax
    jz slice_done
    slot (SLICE_BEGIN_ID + 1)
    .set slot_id, SLICE_BEGIN_ID + 2
    .irp register, rbx, rbp, r12, r13, r14, r15
    movq %\register, %rax
    slot slot_id
    .set slot_id, slot_id + 1
    .endr
slice_word: /* writes the word at rcx, if it may be an address */
    cmpq -8(%rsp), %rcx
    jae slice_done
    movq (%rcx), %rax
    movq %rax, %rsi
    shrq $47, %rsi
    jnz slice_next_word
    cmpq $0xffff, %rax
    jbe slice_next_word
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
slice_next_word:
    addq $8, %rcx
    jmp slice_word
slice_done:
    notrack jmp *%rdx

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at *rdx. In a lane that
 * no thread owns the control word says so from the start, and the tool is not asked. */
hook:
    movq %gs:LANE_CONTROL, %rcx
    testl $CONTROL_OWNER_DIED, (%rcx)
    jnz hook_done
    movq %rdx, %rcx
hook_clock:
    rdtsc
    shlq $48, %rdx
    shlq $16, %rax
    orq %rdx, %rax
    movq %rcx, %rdx
hook_clocked:
    movq %rax, %gs:LANE_WAIT_SINCE
    movq %gs:LANE_CONTROL, %rcx
    movq $1, %gs:LANE_HOOK
hook_wait_for_tool:
    cmpq $0, %gs:LANE_HOOK
    je hook_done
    testl $CONTROL_OWNER_DIED, (%rcx)
    jnz hook_done
    pause
    jmp hook_wait_for_tool
hook_done:
    notrack jmp *%rdx

    .balign 16
/* The program is about to change the protection of memory: rsi bytes at rdi. Waits as above if they
 * overlap a guarded range, else goes on at *rdx. */
guard:
    leaq guarded(%rip), %rax
guard_next:
    movq (%rax), %rcx
    testq %rcx, %rcx
    jz hook_done
    addq $16, %rax
    cmpq %rdi, -8(%rax)
    jbe guard_next
    subq %rdi, %rcx
    jbe hook
    cmpq %rsi, %rcx
    jae guard_next
    jmp hook

    .balign 16
/* A remote call by the tracer. If the tracer dies meanwhile, rt_sigreturn brings the thread back:
 * rsp points at a signal frame with all registers (target/thread.c). */
syscall:
    syscall
series_end:
    movl $15, %eax /* rt_sigreturn */
    syscall
    ud2
/* Several remote calls, ebp of them: rbx points at the next entry of their table (struct entry in
 * target/remote_call.c). The last is a signal, and the tracer leaves the thread behind it. */
series:
    movq (%rbx), %rax
    movq 8(%rbx), %rdi
    movq 16(%rbx), %rsi
    movq 24(%rbx), %rdx
    movq 32(%rbx), %r10
    movq 40(%rbx), %r8
    movq 48(%rbx), %r9
    addq $72, %rbx
    syscall
    movq -16(%rbx), %rcx
    movq %rax, (%rcx)
    movq -8(%rbx), %rcx
    movq %rax, (%rcx)
    decl %ebp
    jnz series
    jmp series_end
end:
    .balign 16, 0xcc
guarded: /* struct guarded */
    .fill (GUARDED_MOST + 1) * 2, 8, 0
/*
 * Here one thread at a time runs the remaining straight code of a trampoline, with its signals
 * blocked (patch/crossing.c). The tool writes the instructions, a jump to the gate, and the notes.
 * The gate's first call does nothing; the tool stops the thread there and moves it. Without a tool
 * the thread goes on: the second call restores its signal mask, and the gate jumps to where the
 * trampoline's code would have come. No flag changes.
 */
bridge:
    .skip BRIDGE_BYTES, 0xcc
gate:
    movabsq %rax, 0 /* the tool writes the address; not the stack, which may end here (Go's) */
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
    movl $0, %esi  /* no signals */
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
 * The remainder of a call that had transferred some bytes when a stop by spoor ended it
 * (tracer/syscall_resume.c). The registers are the call's. The result is the sum, or if the
 * remainder fails, what was done before. At the end all registers are as behind the call; flags
 * and stack are untouched. So a thread goes on without a tool, too.
 */
remainder:
    syscall
remainder_made:
    movq %rax, %gs:LANE_REMAINDER + REMAINDER_RESULT
    leaq 512(%rax), %rcx /* ERESTARTSYS: recvmmsg returns it to have the call made again */
    jrcxz remainder_repeat
    movzbl %gs:LANE_REMAINDER + REMAINDER_RESULT + 7, %ecx
    jrcxz remainder_add
    movl $0, %eax
remainder_add:
    movq %gs:LANE_REMAINDER + REMAINDER_DONE, %rcx
    leaq (%rcx, %rax), %rax
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS, %rdi
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 8, %rsi
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 16, %rdx
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 24, %r10
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 32, %r8
    movq %gs:LANE_REMAINDER + REMAINDER_REGISTERS + 40, %r9
    movq %gs:LANE_REMAINDER + REMAINDER_BACK, %rcx
    notrack jmp *%rcx
remainder_repeat:
    movq %gs:LANE_REMAINDER + REMAINDER_NUMBER, %rax
    jmp remainder
remainder_end:
    .balign 16, 0xcc
    .balign 16
/* A capture that waits for room: ecx is what it needs, in bytes. Starts again at *rdx, with all but
 * rax and rcx as it was. */
room:
    incq %gs:LANE_WAITS
    movq %rax, %gs:LANE_WAIT_SINCE
room_wait:
    leaq EVENT_BYTES(%rcx), %rax
    addq %gs:LANE_HEAD, %rax
    cmpq %gs:LANE_LIMIT, %rax
    jbe room_found
    movq %gs:LANE_CONTROL, %rax
    testl $CONTROL_OWNER_DIED, (%rax)
    jnz wait_without_tool
    pause
    jmp room_wait
room_found:
    movq %gs:LANE_WAIT_SINCE, %rax
    jmp wait_over

/* A capture without room, OVERFLOW_DROP: goes on at *rdx with the event alone. It stands r8d behind
 * r8 then. If there is no room for that either, counts it as lost and goes on ecx bytes behind
 * that. */
cramped:
    movq %gs:LANE_HEAD, %rsi
    cmpq %gs:LANE_LIMIT, %rsi
    jae cramped_lost
    andq %gs:LANE_RING_MASK, %rsi
    subq %r8, %rsi
    movq %rsi, %r8
    notrack jmp *%rdx
cramped_lost:
    addq %rcx, %rdx
    jmp drop_released

/* The slots of a capture would reach beyond the ring's end: fills the ring from rcx up to its end
 * with slots that are no event's. Then it starts again at *rdx, with all but rcx as it was. */
pad:
    movl $(CAPTURE_BEGIN_ID * 4 + EVENT_CONTROL_KIND), %gs:LANE_RING + EVENT_SITE(%rcx)
    movl $-1, %gs:LANE_RING + EVENT_SP_LOW(%rcx) /* no capture has this number */
    movq %rax, %gs:LANE_RING + EVENT_CLOCK_SP(%rcx)
    incq %gs:LANE_SLICE_SLOTS
    addl $EVENT_BYTES, %ecx
    cmpq %gs:LANE_RING_MASK, %rcx
    jb pad
    movq %gs:LANE_HEAD, %rcx
    orq %gs:LANE_RING_MASK, %rcx
    incq %rcx
    movq %rcx, %gs:LANE_HEAD
    notrack jmp *%rdx

/*
 * Text of a capture, as words of 8 bytes (units of 4 bytes: one unit): from rsi on, at most edi
 * bytes, up to a zero unit if UNIT is not 0. rax: the clock and the first word's number, as its slot
 * has them; moves on. r8: the index in the ring of the next slot, which is not reserved; moves on.
 * Reads no page that has no part of the text. Changes rcx, rsi, rdi and what is below rsp. If a read
 * faults, the tool moves the thread to *rdx.
 */
    .macro text_slot /* with the word rdi */
    movq %rax, %gs:LANE_RING + EVENT_CLOCK_SP(%r8)
    movq %rdi, %gs:LANE_RING + EVENT_SITE(%r8)
    incq %rax
    addl $EVENT_BYTES, %r8d
    .endm

    .macro put_text unit
    addq %rsi, %rdi
    movq %rdi, -16(%rsp) /* the end */
1:  movq %rsi, %rcx
    orq $4095, %rcx
    subq $6, %rcx /* eight bytes from there on reach beyond the page */
    movq -16(%rsp), %rdi
    cmpq %rcx, %rdi
    cmovaq %rcx, %rdi
    movq %rdi, -24(%rsp)
    cmpq %rdi, %rsi
    jae 6f
2:  movq (%rsi), %rdi
3:  text_slot
    .if \unit
    movq %rdi, %rcx
    subq text_lowest + 8 * (\unit - 1)(%rip), %rcx
    testq %rcx, text_highest + 8 * (\unit - 1)(%rip)
    jnz 5f
    .endif
4:  addq $8, %rsi
    cmpq -24(%rsp), %rsi
    jb 2b
    cmpq -16(%rsp), %rsi
    jb 1b
    notrack jmp *%rdx
    .if \unit
5:  notq %rdi /* a unit is 0, or more than its half */
    andq %rdi, %rcx
    testq %rcx, text_highest + 8 * (\unit - 1)(%rip)
    jz 4b
    notrack jmp *%rdx
    .endif
6:  movq $0, -32(%rsp) /* near the page's end: unit by unit */
    xorl %edi, %edi
7:
    .if \unit == 2
    movzwl (%rsi, %rdi), %ecx
    movw %cx, -32(%rsp, %rdi)
    addl $2, %edi
    .else
    movzbl (%rsi, %rdi), %ecx
    movb %cl, -32(%rsp, %rdi)
    incl %edi
    .endif
    .if \unit
    testl %ecx, %ecx
    jz 8f
    .endif
    leaq (%rsi, %rdi), %rcx
    cmpq -16(%rsp), %rcx
    jae 8f
    cmpl $8, %edi
    jb 7b
8:  movq -32(%rsp), %rdi
    jmp 3b
    .endm

    .balign 16
text:
    put_text 1
    .balign 16
text_wide:
    put_text 2
    .balign 16
text_long:
    addq %rsi, %rdi
    movq %rdi, -16(%rsp)
text_long_unit:
    movl (%rsi), %edi
    text_slot
    testl %edi, %edi
    jz text_long_done
    addq $4, %rsi
    cmpq -16(%rsp), %rsi
    jb text_long_unit
text_long_done:
    notrack jmp *%rdx
    .balign 16
text_counted:
    put_text 0
captures_end:
    .balign 8
text_lowest: /* the lowest bit of each unit of a word, of units of one and two bytes */
    .quad 0x0101010101010101, 0x0001000100010001
text_highest:
    .quad 0x8080808080808080, 0x8000800080008000
    .balign 16, 0xcc

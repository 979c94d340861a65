/*
 * The agent on AArch64: where stubs find threads' lanes, what they come to when there is none or the
 * ring is full, the wait of the dynamic linker's hook, the place where remote system calls are made,
 * the bridge by which the tool brings threads out of trampolines, and the place where threads make what
 * is left of calls that a stop has cut short.
 *
 * A copy stands at the start of each trampoline area. It is position independent and calls nothing.
 * What stubs come to makes no system call, changes no flag, and uses only x0 to x3 and, in slices, x4
 * to x9, which the stub has saved. So a thread that is stopped here for a signal can be rolled back to its site like one
 * in a stub: x0 tells the stub. (Its `br` needs no landing instruction: areas are not guarded.)
 *
 * It begins with the tables of lanes (wire/lane_lookup.h). Only the tool writes them, and the three words at
 * `asks`, by /proc/PID/mem. Behind them stands a branch for each of the agent's entries, then struct
 * a64_agent_entries, each an offset from the start.
 */
#include "wire/lane_lookup.h"
#include "wire/ring.h"

#define RESERVE 40     /* from a stub's `retry` to where it has found its lane */
#define NOBODY 30      /* CONTROL_OWNER_DIED, as a number of a bit */

    .text
start:
    .fill LANE_KEYS_BYTES / 8, 8, -1
stack_ranges:
    .fill LANE_STACK_RANGES_BYTES / 8, 8, -1
    b seek
    b wait
    b drop
    b slice
    b hook
    .short seek - start, seek_end - start, wait - start, wait_released - start
    .short drop - start, drop_released - start, drop_counted - start
    .short slice - start, hook - start, hook_seek_end - start, call - start, end - start
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start
    .short gate_restored - start, gate_end - start, notes - start, asks - start
    .short remainder - start, remainder_made - start, remainder_end - start
    .balign 16
asks:
    .quad 0 /* address of the struct control to be watched */
    .quad 0 /* address of the lane of those that have none, whose `hook` asks the tool to look */
    .quad 0 /* address of the struct control of those that have one */

/* Looks through the keys from x2 on for x1, a thread pointer. To FOUND, with x2 behind the key. */
    .macro look found
1:  ldr x3, [x2], #LANE_KEY_BYTES
    sub x3, x3, x1
    cbz x3, \found
    adr x3, stack_ranges
    sub x3, x2, x3
    cbnz x3, 1b
    .endm

/* Looks through the stack ranges for the one of x1 that the stack pointer is in. To FOUND, with x2 behind it. */
    .macro look_at_stack found
    adr x2, stack_ranges
1:  ldr x3, [x2], #LANE_STACK_RANGE_BYTES
    sub x3, x3, x1
    cbz x3, 3f
2:  ldur x3, [x2, #-LANE_STACK_RANGE_BYTES]
    add x3, x3, #1
    cbnz x3, 1b
    b 4f
3:  ldur x3, [x2, #LANE_STACK_RANGE_LOW - LANE_STACK_RANGE_BYTES]
    sub x3, sp, x3
    tbnz x3, #63, 2b
    ldur x3, [x2, #LANE_STACK_RANGE_HIGH - LANE_STACK_RANGE_BYTES]
    sub x3, sp, x3
    tbz x3, #63, 2b
    b \found
4:
    .endm

/* Looks through all stack ranges, then through all keys, from the one on where x1's would stand. */
    .macro look_all found
    look_at_stack \found
    ubfx x2, x1, #LANES_SHIFT, #LANES_BITS
    adr x3, start
    add x2, x3, x2, lsl #4
    look \found
    adr x2, start
    look \found
    .endm

/* To GONE if there is no tool any more, by the word of `asks` AT bytes in. */
    .macro unless_gone at, gone
    ldr x2, asks + \at
    ldr w2, [x2]
    tbnz w2, #NOBODY, \gone
    .endm

/* Asks the tool to look what thread pointers there are; to GONE if nobody would. */
    .macro ask gone
    unless_gone 0, \gone
    ldr x3, asks + 8
    mov x2, #1
    str x2, [x3, #LANE_HOOK]
    yield
    .endm

/* The lane was not where x1, the thread pointer, leads to: goes on behind that at x0, the stub's
 * `retry`, with x3 the lane. Where nobody reads any lane will do. */
seek:
    unless_gone 16, no_lane
    look_all 3f
    ask no_lane
    b seek
seek_end:
no_lane:
    ldr x3, asks + 8
    b 4f
3:  ldur x3, [x2, #8 - LANE_KEY_BYTES]
4:  add x0, x0, #RESERVE
    br x0

    .balign 16
/* OVERFLOW_WAIT: gives the reservation in x3's lane back, waits for room, and begins again at x0. */
wait:
    ldxr x1, [x3]
    sub x1, x1, #EVENT_BYTES
    stxr w2, x1, [x3]
    cbnz w2, wait
wait_released:
    ldr x1, [x3, #LANE_WAITS]
    add x1, x1, #1
    str x1, [x3, #LANE_WAITS]
1:  ldr x1, [x3, #LANE_HEAD]
    ldr x2, [x3, #LANE_LIMIT]
    sub x2, x1, x2
    tbnz x2, #63, 3f
    ldr x2, [x3, #LANE_CONTROL]
    ldr w2, [x2]
    tbnz w2, #NOBODY, 2f
    yield
    b 1b
2:  mov x2, #0x7fffffffffffffff /* nobody reads any more: the ring goes round for ever */
    str x2, [x3, #LANE_LIMIT]
3:  br x0

    .balign 16
/* OVERFLOW_DROP: gives the reservation back, counts, and goes on at x0 without an event. */
drop:
    ldxr x1, [x3]
    sub x1, x1, #EVENT_BYTES
    stxr w2, x1, [x3]
    cbnz w2, drop
drop_released:
    ldr x1, [x3, #LANE_LOST]
    add x1, x1, #1
    str x1, [x3, #LANE_LOST]
drop_counted:
    br x0

/* One slot of a slice: w2 is its site, and x6 what it tells, 48 bits; changes x6, x7, x8. It is
 * written before it is reserved: until then nobody reads it, and it is the one that need not be whole
 * in a ring that is overwritten. So the slot before it must be seen reserved first. */
    .macro slot
    dmb ishst
    ldr x7, [x3, #LANE_HEAD]
    ldr x8, [x3, #LANE_RING_MASK]
    and x8, x8, x7
    add x8, x8, x3
    add x8, x8, #LANE_RING
    stp w2, w6, [x8, #EVENT_SITE]
    ubfx x6, x6, #32, #16
    orr x6, x6, x4
    str x6, [x8, #EVENT_CLOCK_SP]
    ldr x8, [x3, #LANE_SLICE_SLOTS]
    add x8, x8, #1
    str x8, [x3, #LANE_SLICE_SLOTS]
    add x7, x7, #EVENT_BYTES
    stlr x7, [x3]
    .endm
    .macro site id
    movz w2, #(\id * 4 + EVENT_CONTROL_KIND) & 0xffff
    movk w2, #(\id * 4 + EVENT_CONTROL_KIND) >> 16, lsl #16
    .endm

    .balign 16
/*
 * A slice of the stack from x1 on (STUB_SLICE), for x3's lane: as much as is asked for, to the end of
 * the thread's own stack or else of the page, which the stub has just pushed to. (At a page's start that
 * was another one, and nothing is looked at: functions begin at the very end of a stack, as there is no return
 * address on it.) x4: the clock, as events have it; x2: whether to wait for room; x0: the stub's `done`.
 * Only registers decide what is read: where spoor is gone, threads that were born since share a lane.
 * x5 is the end; 0: there is no room. Addresses are told
 * without what authenticates them; what is an address of the kernel's, or too low, is none.
 */
slice:
    ldr x5, [x3, #LANE_SLICE_BYTES]
    cbz x5, 9f
    ldr x6, [x3, #LANE_CONTROL]
    ldr w6, [x6]
    tbnz w6, #NOBODY, 9f
    ldr x6, [x3, #LANE_STACK_LOW]
    sub x6, x1, x6
    tbnz x6, #63, 1f
    ldr x7, [x3, #LANE_STACK_BYTES]
    sub x7, x7, x6
    tbnz x7, #63, 1f
    cbnz x7, 2f
1:  ubfx x7, x1, #0, #12
    cbz x7, 2f
    orr x7, x1, #~0xfff
    neg x7, x7
2:  sub x6, x7, x5
    tbnz x6, #63, 3f
    mov x7, x5
3:  and x7, x7, #~7
    add x5, x1, x7
    lsl x7, x7, #1
    add x7, x7, #SLICE_HEAD_SLOTS * EVENT_BYTES
    ldr x8, [x3, #LANE_LIMIT]
    ldr x6, [x3, #LANE_HEAD]
    add x6, x6, x7
    sub x6, x8, x6
    tbz x6, #63, 6f
    cbz x2, 5f
    ldr x6, [x3, #LANE_WAITS]
    add x6, x6, #1
    str x6, [x3, #LANE_WAITS]
4:  ldr x8, [x3, #LANE_LIMIT]
    ldr x6, [x3, #LANE_HEAD]
    add x6, x6, x7
    sub x6, x8, x6
    tbz x6, #63, 6f
    ldr x6, [x3, #LANE_CONTROL]
    ldr w6, [x6]
    tbnz w6, #NOBODY, 9f
    yield
    b 4b
5:  ldr x6, [x3, #LANE_HEAD] /* only that there should have been one */
    add x6, x6, #EVENT_BYTES
    sub x6, x8, x6
    tbnz x6, #63, 9f
    mov x5, #0
6:  ldr x6, [x3, #LANE_SLICE_SLOTS]
    site SLICE_BEGIN_ID
    slot
    cbz x5, 9f
    site (SLICE_BEGIN_ID + 1)
    mov x6, x5
    adr x9, 7f
    b slice_slot
7:
    .irp register, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29, x30
    add w2, w2, #4
    mov x6, \register
    adr x9, 8f
    b slice_slot
8:
    .endr
    site SLICE_WORD_ID
    ldr x9, [x3, #LANE_SLICE_BYTES]
    b 8f
7:  tbnz x9, #SLICE_TAGGED_BIT, 3f
    ldr x6, [x1], #8
2:  tbnz x6, #55, 1f
    ubfx x7, x6, #16, #32
    cbz x7, 1f
    slot
1:  add w2, w2, #4
8:  sub x6, x5, x1
    cbnz x6, 7b
9:  br x0
3:  mov x6, x1
    .inst 0xd9600026 /* ldg x6, [x1]: with the tag of what stands there */
    ldr x6, [x6]
    add x1, x1, #8
    b 2b
slice_slot:
    slot
    br x9

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at x0. */
hook:
    mrs x1, tpidr_el0
    look_all 2f
    ask 4f
    b hook
hook_seek_end:
2:  ldur x3, [x2, #8 - LANE_KEY_BYTES]
    mov x2, #1
    str x2, [x3, #LANE_HOOK]
3:  ldr x2, [x3, #LANE_HOOK]
    cbz x2, 4f
    ldr x2, [x3, #LANE_CONTROL]
    ldr w2, [x2]
    tbnz w2, #NOBODY, 4f
    yield
    b 3b
4:  br x0

    .balign 16
/* A remote call by the tracer, then the way back if the tracer has died meanwhile: sp points at a
 * signal frame that holds all registers (target/thread.c). */
call:
    svc #0
    mov x8, #139 /* rt_sigreturn */
    svc #0
    udf #0
end:
    .balign 16
/*
 * Where one thread at a time goes over what is left of the straight code of a trampoline, while its
 * signals are blocked (patch/crossing.c). The tool writes the instructions here, a jump to the
 * gate, the jump back, and the notes. The first call of the gate does nothing; at it the tool takes
 * the thread away. Without a tool the thread goes on: the second call gives it its signal mask back,
 * then it is where it would have come to in the trampoline. No flag changes. Of the stack 16 bytes
 * are used, half of what the stub had.
 */
bridge:
    .skip BRIDGE_BYTES, 0
gate:
    str x0, [sp, #-16]!
gate_saving:
    ldr x0, notes + 24
    stp x1, x2, [x0, #8]
    stp x3, x8, [x0, #24]
    ldr x1, [sp], #16
    str x1, [x0]
gate_saved:
    mov x8, #135 /* rt_sigprocmask: how, set, old set, size of sets */
    mov x0, #0   /* SIG_BLOCK */
    mov x1, #0   /* nothing */
    mov x2, #0
    mov x3, #8
    svc #0
    mov x8, #135
    mov x0, #2 /* SIG_SETMASK */
    adr x1, notes
    svc #0
    ldr x0, notes + 24
    ldp x1, x2, [x0, #8]
    ldp x3, x8, [x0, #24]
    ldr x0, [x0]
gate_restored:
    b . /* the tool writes where */
gate_end:
    .org gate + BRIDGE_GATE_BYTES /* fails if it is longer */
    .balign 8
notes: /* struct bridge_notes in arch/bridge.h */
    .quad 0, 0, 0, 0
    .balign 16
/*
 * What is left of a call that had transferred some bytes when a stop of ours ended it (tracer/syscall_resume.c).
 * x9: the lane; x10: the first argument; all other registers are the call's. Then rt_sigreturn brings all of them back, with the
 * sum: what was done before, if this fails. Only for the last instruction before that is the stack pointer
 * not the program's.
 */
remainder:
    svc #0
remainder_made:
    str x0, [x9, #LANE_REMAINDER + REMAINDER_RESULT]
    cmn x0, #512 /* ERESTARTSYS: recvmmsg returns that once more, when it can be called again */
    b.eq 1f
    cmp x0, #0
    csel x0, x0, xzr, ge
    ldr x1, [x9, #LANE_REMAINDER + REMAINDER_DONE]
    add x0, x0, x1
    str x0, [x9, #LANE_REMAINDER + REMAINDER_FRAME + REMAINDER_FRAME_RESULT]
    mov x8, #139 /* rt_sigreturn */
    add sp, x9, #LANE_REMAINDER + REMAINDER_FRAME
    svc #0
    udf #0
1:  mov x0, x10
    b remainder
remainder_end:
    .balign 16

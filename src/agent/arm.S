/*
 * The agent on 32-bit Arm: where stubs find threads' lanes, what they come to when there is none or the
 * ring is full, the wait of the dynamic linker's hook, the place where remote system calls are made,
 * the bridge by which the tool brings threads out of trampolines, and the place where threads make what
 * is left of calls that a stop has cut short.
 *
 * A copy stands at the start of each trampoline area. It is position independent, calls nothing, and is
 * A32 code: stubs of both states come by `bx`, and r0 tells where in which state to go on. What they
 * come to makes no system call, and uses only r0 to r6, in slices r8 to r12 as well, which the stub has saved, as it
 * has the flags. So a thread that is stopped here for a signal can be rolled back to its site like one in a stub.
 *
 * It begins with the tables of lanes (wire/lane_lookup.h), whose address is in r5. Behind them stands a branch
 * for each of the agent's entries, then struct arm_agent_entries, each an offset from the start. Numbers
 * of the lane have 64 bits: who else reads one must see it before or after, never half of either, so it
 * is written by an exclusive pair, as not all processors store two words at once; and likewise read if others write it.
 */
#include "wire/lane_lookup.h"
#include "wire/ring.h"

#define SLICE_FRAME 52 /* r0 to r12 */
#define SLICE_FRAME_R4 16

    .syntax unified
    .arch armv7-a
    .arm
    .text
start:
    .fill LANES_BYTES / 8, 8, -1
    b seek
    b wait
    b drop
    b hook
    b slice
    .short seek - start, seek_end - start, wait - start, drop - start, drop_counting - start, drop_counted - start
    .short slice - start, hook - start, hook_seek_end - start, call - start, end - start
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start
    .short gate_restored - start, gate_back - start, gate_end - start, notes - start, asks - start
    .short remainder - start, remainder_made - start, remainder_end - start
    .balign 16
asks: /* struct lane_asks */
    .quad 0, 0, 0

/* Looks through the keys from r2 on, up to r4, for r1, a thread pointer. To FOUND, with r2 behind the key. */
    .macro look found
1:  ldr r3, [r2], #LANE_KEY_BYTES
    cmp r3, r1
    beq \found
    cmp r2, r4
    bne 1b
    .endm

/* Looks through the stack ranges for the one of r1 that the stack pointer is in. To FOUND, with r2 behind it. */
    .macro look_at_stack found
    add r2, r5, #LANE_KEYS_BYTES
1:  ldr r3, [r2], #LANE_STACK_RANGE_BYTES
    cmp r3, r1
    beq 3f
2:  cmn r3, #1
    bne 1b
    b 4f
3:  ldr r4, [r2, #LANE_STACK_RANGE_LOW - LANE_STACK_RANGE_BYTES]
    cmp sp, r4
    blo 2b
    ldr r4, [r2, #LANE_STACK_RANGE_HIGH - LANE_STACK_RANGE_BYTES]
    cmp sp, r4
    bhs 2b
    b \found
4:
    .endm

/* Looks for this thread through all stack ranges, then through all keys, from the one on where it would stand. */
    .macro look_all found
    mrc p15, 0, r1, c13, c0, 3
    look_at_stack \found
    ubfx r2, r1, #LANES_SHIFT, #LANES_BITS
    add r2, r5, r2, lsl #4
    add r4, r5, #LANE_KEYS_BYTES
    look \found
    mov r2, r5
    look \found
    .endm

/* To GONE if there is no tool any more, by the word that r2 points to. */
    .macro unless_gone gone
    ldr r2, [r2]
    tst r2, #CONTROL_OWNER_DIED
    bne \gone
    .endm

/* Asks the tool to look what thread pointers there are; to GONE if nobody would. */
    .macro ask gone
    ldr r2, asks
    unless_gone \gone
    ldr r3, asks + 8
    mov r2, #1
    str r2, [r3, #LANE_HOOK]
    yield
    .endm

/* ADDED more in the number at OFFSET of r6's lane, if FAILED is 0 behind it. */
    .macro count offset, added=1, at=r4, failed=r1
    add \at, r6, #\offset
1:  ldrexd r2, r3, [\at]
    adds r2, r2, #\added
    adc r3, r3, #0
    strexd \failed, r2, r3, [\at]
    .endm

/* The lane was not where the thread pointer leads to: goes on at r0 with r6 the lane. Where nobody reads
 * any lane will do. */
seek:
    ldr r2, asks + 16
    unless_gone no_lane
    look_all 3f
    ask no_lane
    b seek
seek_end:
no_lane:
    ldr r6, asks + 8
    bx r0
3:  ldr r6, [r2, #8 - LANE_KEY_BYTES]
    bx r0

    .balign 16
/* OVERFLOW_WAIT: waits for room in r6's lane, and begins again at r0. */
wait:
    count LANE_WAITS
    cmp r1, #0
    bne 1b
2:  ldrd r2, r3, [r6]
    add r1, r6, #LANE_LIMIT
    ldrexd r4, r5, [r1]
    cmp r2, r4
    sbcs r2, r3, r5
    blo 4f
    ldr r2, [r6, #LANE_CONTROL]
    unless_gone 3f
    yield
    b 2b
3:  mvn r2, #0 /* nobody reads any more: the ring goes round for ever */
    mvn r3, #0x80000000
    strd r2, r3, [r6, #LANE_LIMIT]
4:  bx r0

    .balign 16
/* OVERFLOW_DROP: counts, and goes on at r0 without an event. */
drop:
    count LANE_LOST
drop_counting:
    cmp r1, #0
    bne 1b
drop_counted:
    bx r0

/* One slot of a slice: r11 is its site, r12 what it tells; changes r2, r3, r8 and r12. It is written before it
 * is reserved: until then nobody reads it, and it is the one that need not be whole in a ring that is overwritten. So
 * the slot before it must be seen reserved first. */
    .macro slot
    dmb ishst
    ldr r2, [r6, #LANE_HEAD]
    ldr r8, [r6, #LANE_RING_MASK]
    and r8, r8, r2
    add r8, r8, r6
    add r8, r8, #LANE_RING
    stm r8, {r9, r10, r11, r12}
    count LANE_SLICE_SLOTS, 1, r8, r12
    cmp r12, #0
    bne 1b
    dmb ishst
    count LANE_HEAD, EVENT_BYTES, r8, r12
    cmp r12, #0
    bne 1b
    .endm
    .macro site id
    movw r11, #(\id * 4 + EVENT_CONTROL_KIND) & 0xffff
    movt r11, #(\id * 4 + EVENT_CONTROL_KIND) >> 16
    .endm

/* Whether there is room for r1 more bytes in r6's ring: to FOUND if so. Changes r2, r3, r8 to r10 and r12. */
    .macro room found
    ldrd r2, r3, [r6]
    adds r2, r2, r1
    adc r3, r3, #0
    add r12, r6, #LANE_LIMIT
    ldrexd r8, r9, [r12]
    cmp r8, r2
    sbcs r10, r9, r3
    bhs \found
    .endm

    .balign 16
/*
 * A slice of the stack (STUB_SLICE), for r6's lane, from where the stub has begun to push: as much as is asked for, to the
 * end of the thread's own stack or else of the page, which the stub has just pushed to. (At a page's start that was
 * another one, and nothing is looked at.) r4: whether to wait for room; r0: the stub's `done`. Only registers, and what
 * the stub has saved, decide what is read: where spoor is gone, threads that were born since share a lane. r5 is the end;
 * 0: there is no room. Numbers of 17 bits, with their sign, are no addresses.
 */
slice:
    ldr r5, [r6, #LANE_SLICE_BYTES]
    cmp r5, #0
    beq 9f
    ldr r2, [r6, #LANE_CONTROL]
    unless_gone 9f
    add r1, sp, #SLICE_FRAME
    ldr r2, [r6, #LANE_STACK_LOW]
    ldr r3, [r6, #LANE_STACK_BYTES]
    sub r2, r1, r2
    cmp r2, r3
    sublo r3, r3, r2
    blo 2f
    rsb r3, r1, #0
    ubfx r3, r3, #0, #12
2:  cmp r3, r5
    movhi r3, r5
    bic r3, r3, #3
    add r5, r1, r3
    lsl r1, r3, #2
    add r1, r1, #SLICE_HEAD_SLOTS * EVENT_BYTES
    room 6f
    cmp r4, #0
    beq 5f
    count LANE_WAITS, 1, r8, r12
    cmp r12, #0
    bne 1b
4:  room 6f
    ldr r2, [r6, #LANE_CONTROL]
    unless_gone 9f
    yield
    b 4b
5:  mov r5, #0 /* only that there should have been one */
    mov r1, #EVENT_BYTES
    room 6f
    b 9f
6:  mrrc p15, 1, r2, r3, c14
    lsl r10, r3, #16
    orr r10, r10, r2, lsr #16
    lsl r9, r2, #16
    ldrd r2, r3, [r6, #LANE_SLICE_SLOTS]
    mov r12, r2
    uxth r3, r3
    orr r9, r9, r3
    site SLICE_BEGIN_ID
    slot
    cmp r5, #0
    beq 9f
    bfc r9, #0, #16
    add r11, r11, #4
    mov r12, r5
    slot
    add r4, sp, #SLICE_FRAME_R4
7:  add r11, r11, #4
    ldr r12, [r4], #4
    slot
    add r1, sp, #SLICE_FRAME_R4 + 32 /* behind r11's place */
    cmp r4, r1
    bne 7b
    add r11, r11, #4
    mov r12, lr
    slot
    site SLICE_WORD_ID
    add r1, sp, #SLICE_FRAME
8:  cmp r1, r5
    beq 9f
    ldr r12, [r1], #4
    add r2, r12, #0x10000
    cmp r2, #0x20000
    blo 7f
    slot
7:  add r11, r11, #4
    b 8b
9:  bx r0

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at r0. */
hook:
    look_all 2f
    ask 4f
    b hook
hook_seek_end:
2:  ldr r6, [r2, #8 - LANE_KEY_BYTES]
    ldr r2, [r6, #LANE_CONTROL]
    unless_gone 4f
    mov r2, #1
    str r2, [r6, #LANE_HOOK]
3:  ldr r2, [r6, #LANE_HOOK]
    cmp r2, #0
    beq 4f
    ldr r2, [r6, #LANE_CONTROL]
    unless_gone 4f
    yield
    b 3b
4:  bx r0

    .balign 16
/* A remote call by the tracer, then the way back if the tracer has died meanwhile: sp points at a
 * signal frame that holds all registers (target/thread.c). */
call:
    svc #0
    mov r7, #173 /* rt_sigreturn */
    svc #0
    udf #0
end:
    .balign 16
/*
 * Where one thread at a time goes over what is left of the straight code of a trampoline, while its
 * signals are blocked (patch/crossing.c). The tool writes the instructions here, of whichever state, a
 * jump to the gate, the word by which it is left, and the notes. The first call of the gate does nothing;
 * at it the tool takes the thread away. Without a tool the thread goes on: the second call gives it its
 * signal mask back, then it is where it would have come to in the trampoline. No flag changes. Of the
 * stack 4 bytes are used, of what the stub had.
 */
bridge:
    .skip BRIDGE_BYTES, 0
gate:
    push {r0}
gate_saving:
    ldr r0, notes + 24
    stmib r0, {r1, r2, r3, r7}
    pop {r1}
    str r1, [r0]
gate_saved:
    mov r7, #175 /* rt_sigprocmask: how, set, old set, size of sets */
    mov r0, #0   /* SIG_BLOCK */
    mov r1, #0   /* nothing */
    mov r2, #0
    mov r3, #8
    svc #0
    mov r7, #175
    mov r0, #2 /* SIG_SETMASK */
    adr r1, notes
    svc #0
    ldr r0, notes + 24
    ldmib r0, {r1, r2, r3, r7}
    ldr r0, [r0]
gate_restored:
    ldr pc, gate_back
gate_back:
    .word 0 /* the tool writes where */
gate_end:
    .org gate + BRIDGE_GATE_BYTES /* fails if it is longer */
    .balign 8
notes: /* struct bridge_notes in arch/bridge.h */
    .quad 0, 0, 0, 0
    .balign 16
/*
 * What is left of a call that had transferred some bytes when a stop of ours ended it (tracer/syscall_resume.c).
 * r6: the lane; r8: the first argument; all other registers are the call's. Then rt_sigreturn brings all of them back, with the
 * sum: what was done before, if this fails. Only for the last instruction before that is the stack pointer
 * not the program's.
 */
remainder:
    svc #0
remainder_made:
    mov r10, r0
    asr r11, r0, #31
    strd r10, r11, [r6, #LANE_REMAINDER + REMAINDER_RESULT]
    cmn r0, #512 /* ERESTARTSYS: recvmmsg returns that once more, when it can be called again */
    beq 1f
    bic r0, r10, r11 /* nothing if it has failed */
    ldr r1, [r6, #LANE_REMAINDER + REMAINDER_DONE]
    add r0, r0, r1
    str r0, [r6, #LANE_REMAINDER + REMAINDER_FRAME + REMAINDER_FRAME_RESULT]
    mov r7, #173 /* rt_sigreturn */
    add sp, r6, #LANE_REMAINDER + REMAINDER_FRAME
    svc #0
    udf #0
1:  mov r0, r8
    b remainder
remainder_end:
    .balign 16

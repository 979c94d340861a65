/*
 * The agent on 32-bit Arm. It has the tables of threads' lanes. It has code for threads without a
 * lane, for full rings, for the wait of the dynamic linker's hook, and for remote system calls. On
 * its bridge threads leave trampolines. Its last part makes remainders of calls that a stop cut
 * short.
 *
 * A copy stands at the start of each trampoline area. It is position independent, calls nothing,
 * and is A32 code. Stubs of both states come by `bx`; r0 is the address in the stub to return to,
 * with the state's bit. The code that stubs jump to makes no system call. It uses only r0 to r6, in
 * slices and captures also r8 to r12, and the flags, all of which the stub has saved. So a thread that is
 * stopped here for a signal can be rolled back to its site like one in a stub.
 *
 * The agent begins with the tables of lanes (wire/lane_lookup.h); r5 is their address. Behind them
 * are a branch for each of the agent's entries, and struct arm_agent_labels, whose members are
 * offsets from the start. Numbers in the lane have 64 bits. Not all processors store two words at
 * once, so numbers that others read are written by an exclusive pair. Numbers that others write are
 * read by an exclusive load.
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
    b slice
    b hook
    b guard
    b capture_room
    b cramped
    b text
    b text_wide
    b text_long
    b text_counted
    .short seek - start, seek_end - start, wait - start, 0
    .short drop - start, 0, drop_counting - start, drop_counted - start
    .short slice - start, hook - start, hook_seek_end - start, call - start, end - start
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start, gate_restored - start
    .short gate_back - start, gate_end - start, notes - start, asks - start
    .short remainder - start, remainder_made - start, remainder_end - start
    .short guarded - start
    .short capture_room - start, text - start, captures_end - start
    .balign 16
asks: /* struct lane_asks */
    .quad 0, 0, 0

/* Searches the keys from r2 to r4 for r1, a thread pointer. Goes to FOUND, r2 behind the key. */
    .macro search_keys found
next_key\@:
    ldr r3, [r2], #LANE_KEY_BYTES
    cmp r3, r1
    beq \found
    cmp r2, r4
    bne next_key\@
    .endm

/* Searches the stack ranges of r1 for the stack pointer. Goes to FOUND with r2 behind the range. */
    .macro search_stack_ranges found
    add r2, r5, #LANE_KEYS_BYTES
next_range\@:
    ldr r3, [r2], #LANE_STACK_RANGE_BYTES
    cmp r3, r1
    beq check_range\@
wrong_range\@:
    cmn r3, #1
    bne next_range\@
    b no_range\@
check_range\@:
    ldr r4, [r2, #LANE_STACK_RANGE_LOW - LANE_STACK_RANGE_BYTES]
    cmp sp, r4
    blo wrong_range\@
    ldr r4, [r2, #LANE_STACK_RANGE_HIGH - LANE_STACK_RANGE_BYTES]
    cmp sp, r4
    bhs wrong_range\@
    b \found
no_range\@:
    .endm

/* Searches all stack ranges, then all keys, beginning with the key that the thread pointer's bits
 * choose. */
    .macro search_all found
    mrc p15, 0, r1, c13, c0, 3
    search_stack_ranges \found
    ubfx r2, r1, #LANES_SHIFT, #LANES_BITS
    add r2, r5, r2, lsl #4
    add r4, r5, #LANE_KEYS_BYTES
    search_keys \found
    mov r2, r5
    search_keys \found
    .endm

/* Goes to GONE if the tool has died, by the struct control to which r2 points. */
    .macro check_tool gone
    ldr r2, [r2]
    tst r2, #CONTROL_OWNER_DIED
    bne \gone
    .endm

/* Asks the tool to give the thread a lane. Goes to GONE if there is no tool. */
    .macro ask gone
    ldr r2, asks
    check_tool \gone
    ldr r3, asks + 8
    mov r2, #1
    str r2, [r3, #LANE_HOOK]
    yield
    .endm

/* Adds ADDED to the number at OFFSET of r6's lane. If FAILED is not 0 then, it must be repeated,
 * from label 1. */
    .macro count offset, added=1, at=r4, failed=r1
    add \at, r6, #\offset
1:  ldrexd r2, r3, [\at]
    adds r2, r2, #\added
    adc r3, r3, #0
    strexd \failed, r2, r3, [\at]
    .endm

/* The key that the thread pointer's bits choose is not the thread's. Finds the lane, and returns to
 * r0 with r6 the lane. If the tool has died any lane will do. */
seek:
    ldr r2, asks + 16
    check_tool seek_any_lane
    search_all seek_found
    ask seek_any_lane
    b seek
seek_end:
seek_any_lane:
    ldr r6, asks + 8
    bx r0
seek_found:
    ldr r6, [r2, #8 - LANE_KEY_BYTES]
    bx r0

/* The thread begins to wait for room in r6's lane, or in the hook. Changes r2 and r3. */
    .macro begin_wait
    mrrc p15, 1, r2, r3, c14
    lsl r3, r3, #16
    orr r3, r3, r2, lsr #16
    lsl r2, r2, #16
    strd r2, r3, [r6, #LANE_WAIT_SINCE]
    .endm

/* The wait for room is over: writes the event that tells when it began. The wait ends with the next
 * event. The slot is reserved after it is written. Changes r2, r3, AT and FAILED. */
    .macro note_wait at, failed
    ldr r2, [r6]
    ldr \at, [r6, #LANE_RING_MASK]
    and \at, \at, r2
    add \at, \at, r6
    add \at, \at, #LANE_RING
    ldrd r2, r3, [r6, #LANE_WAIT_SINCE]
    strd r2, r3, [\at, #EVENT_CLOCK_SP]
    movw r2, #(WAIT_ID * 4 + EVENT_CONTROL_KIND) & 0xffff
    movt r2, #(WAIT_ID * 4 + EVENT_CONTROL_KIND) >> 16
    str r2, [\at, #EVENT_SITE]
    dmb ishst
    count LANE_HEAD, EVENT_BYTES, \at, \failed
    cmp \failed, #0
    bne 1b
    mov r2, #0
    mov r3, #0
    strd r2, r3, [r6, #LANE_WAIT_SINCE]
    .endm

    .balign 16
/* OVERFLOW_WAIT: waits for room in r6's lane, and starts again at r0. */
wait:
    count LANE_WAITS
    cmp r1, #0
    bne 1b
    begin_wait
wait_for_room:
    ldrd r2, r3, [r6]
    add r1, r6, #LANE_LIMIT
    ldrexd r4, r5, [r1]
    cmp r2, r4
    sbcs r2, r3, r5
    blo wait_over
    ldr r2, [r6, #LANE_CONTROL]
    check_tool wait_without_tool
    yield
    b wait_for_room
wait_without_tool:
    mvn r2, #0 /* nothing reads the ring any more: overwrite it for ever */
    mvn r3, #0x80000000
    strd r2, r3, [r6, #LANE_LIMIT]
    bx r0
wait_over:
    note_wait r4, r1
    bx r0

    .balign 16
/* OVERFLOW_DROP: counts a lost event, and goes on at r0. */
drop:
    count LANE_LOST
drop_counting:
    cmp r1, #0
    bne 1b
drop_counted:
    bx r0

/* Writes one slot of a slice with the site r11 and the value r12; changes r2, r3, r8 and r12. The
 * slot is reserved after it is written. Until then it is not read: readers of overwritten rings
 * leave out the slot at the head. So the slot before it must be seen reserved first. */
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

/* Goes to FOUND if r6's ring has room for r1 more bytes. Changes r2, r3, r8 to r10 and r12. */
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
 * Records a slice of the stack above the stub's frame (STUB_SLICE) in r6's lane: LANE_SLICE_BYTES,
 * but only to the end of the thread's own stack. On other stacks it ends with the page, to which
 * the stub has just pushed. If the slice would begin at a page's start, the pushes went to the page
 * below, and nothing is read.
 *
 * r4: whether to wait for room. r0: the stub's `done`. r5: the slice's end; 0: no room. Only
 * registers, and those that the stub has saved, decide what is read, since threads that are born
 * after spoor's death share a lane. Words from −0x10000 to 0xffff are no addresses and left out.
 */
slice:
    ldr r5, [r6, #LANE_SLICE_BYTES]
    cmp r5, #0
    beq slice_done
    ldr r2, [r6, #LANE_CONTROL]
    check_tool slice_done
    add r1, sp, #SLICE_FRAME
    ldr r2, [r6, #LANE_STACK_LOW]
    ldr r3, [r6, #LANE_STACK_BYTES]
    sub r2, r1, r2
    cmp r2, r3
    sublo r3, r3, r2
    blo slice_limit_bytes
    rsb r3, r1, #0
    ubfx r3, r3, #0, #12
slice_limit_bytes: /* r3: bytes that can be read */
    cmp r3, r5
    movhi r3, r5
    bic r3, r3, #3
    add r5, r1, r3
    lsl r1, r3, #2
    add r1, r1, #SLICE_HEAD_SLOTS * EVENT_BYTES
    room slice_write
    cmp r4, #0
    beq slice_without_room
    count LANE_WAITS, 1, r8, r12
    cmp r12, #0
    bne 1b
    begin_wait
    add r1, r1, #EVENT_BYTES
slice_wait_for_room:
    room slice_wait_over
    ldr r2, [r6, #LANE_CONTROL]
    check_tool slice_done
    yield
    b slice_wait_for_room
slice_without_room: /* writes only the first slot: it shows that a slice is missing */
    mov r5, #0
    mov r1, #EVENT_BYTES
    room slice_write
    b slice_done
slice_wait_over:
    note_wait r8, r12
slice_write:
    mrrc p15, 1, r2, r3, c14
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
    beq slice_done
    bfc r9, #0, #16
    add r11, r11, #4
    mov r12, r5
    slot
    add r4, sp, #SLICE_FRAME_R4
slice_register:
    add r11, r11, #4
    ldr r12, [r4], #4
    slot
    add r1, sp, #SLICE_FRAME_R4 + 32 /* behind r11's place */
    cmp r4, r1
    bne slice_register
    add r11, r11, #4
    mov r12, lr
    slot
    site SLICE_WORD_ID
    add r1, sp, #SLICE_FRAME
slice_word: /* writes the word at r1, if it may be an address */
    cmp r1, r5
    beq slice_done
    ldr r12, [r1], #4
    add r2, r12, #0x10000
    cmp r2, #0x20000
    blo slice_next_word
    slot
slice_next_word:
    add r11, r11, #4
    b slice_word
slice_done:
    bx r0

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at r0. */
hook:
    search_all hook_lane_found
    ask hook_done
    b hook
hook_seek_end:
hook_lane_found:
    ldr r6, [r2, #8 - LANE_KEY_BYTES]
    ldr r2, [r6, #LANE_CONTROL]
    check_tool hook_done
    begin_wait
    mov r2, #1
    str r2, [r6, #LANE_HOOK]
hook_wait_for_tool:
    ldr r2, [r6, #LANE_HOOK]
    cmp r2, #0
    beq hook_done
    ldr r2, [r6, #LANE_CONTROL]
    check_tool hook_done
    yield
    b hook_wait_for_tool
hook_done:
    bx r0

    .balign 16
/* The program is about to change the protection of memory. Its address and size, the program's r0
 * and r1, are on the stack. Waits as above if they overlap a guarded range, else goes on at r0. */
guard:
    ldr r3, [sp]
    ldr r4, [sp, #4]
    adr r2, guarded
guard_next:
    ldr r1, [r2], #4
    ldr r6, [r2], #4
    cmp r1, #0
    beq hook_done
    cmp r6, r3
    bls guard_next
    subs r1, r1, r3
    bls hook
    cmp r1, r4
    bhs guard_next
    b hook

    .balign 16
/* A remote call by the tracer. If the tracer dies meanwhile, rt_sigreturn brings the thread back:
 * sp points at a signal frame with all registers (target/thread.c). */
call:
    svc #0
    mov r7, #173 /* rt_sigreturn */
    svc #0
    udf #0
end:
    .balign 16
guarded: /* struct guarded */
    .fill (GUARDED_MOST + 1) * 2, 4, 0
    .balign 16
/*
 * Here one thread at a time runs the remaining straight code of a trampoline, with its signals
 * blocked (patch/crossing.c). The tool writes the instructions, of either state, a jump to the
 * gate, the address of the way back, and the notes. The gate's first call does nothing; the tool
 * stops the thread there and moves it. Without a tool the thread goes on: the second call restores
 * its signal mask, and the gate jumps to where the trampoline's code would have come. No flag
 * changes. The gate uses 4 bytes of the stack, which the stub also used.
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
    mov r1, #0   /* no signals */
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
    .word 0 /* the tool writes the target */
gate_end:
    .org gate + BRIDGE_GATE_BYTES /* fails if it is longer */
    .balign 8
notes: /* struct bridge_notes in arch/bridge.h */
    .quad 0, 0, 0, 0
    .balign 16
/*
 * The remainder of a call that had transferred some bytes when a stop by spoor ended it
 * (tracer/syscall_resume.c). r6: the lane; r8: the first argument; all other registers are the
 * call's. The result is the sum, or if the remainder fails, what was done before. rt_sigreturn
 * restores all registers. The stack pointer is the program's up to the last instruction before it.
 */
remainder:
    svc #0
remainder_made:
    mov r10, r0
    asr r11, r0, #31
    strd r10, r11, [r6, #LANE_REMAINDER + REMAINDER_RESULT]
    cmn r0, #512 /* ERESTARTSYS: recvmmsg returns it to have the call made again */
    beq remainder_repeat
    bic r0, r10, r11 /* 0 if it has failed */
    ldr r1, [r6, #LANE_REMAINDER + REMAINDER_DONE]
    add r0, r0, r1
    str r0, [r6, #LANE_REMAINDER + REMAINDER_FRAME + REMAINDER_FRAME_RESULT]
    mov r7, #173 /* rt_sigreturn */
    add sp, r6, #LANE_REMAINDER + REMAINDER_FRAME
    svc #0
    udf #0
remainder_repeat:
    mov r0, r8
    b remainder
remainder_end:
    .balign 16
/* A capture that waits for room: r4 is what it needs, in bytes. Starts again at r0. */
capture_room:
    add r1, r4, #EVENT_BYTES
    count LANE_WAITS, 1, r8, r12
    cmp r12, #0
    bne 1b
    begin_wait
capture_room_wait:
    room wait_over
    ldr r2, [r6, #LANE_CONTROL]
    check_tool wait_without_tool
    yield
    b capture_room_wait

/* A capture without room, OVERFLOW_DROP: goes on at r0 with the event alone, the head in r8. If
 * there is no room for that either, counts it as lost and goes on r4 bytes behind that. */
cramped:
    ldr r8, [r6, #LANE_HEAD]
    ldr r12, [r6, #LANE_HEAD + 4]
    add r1, r6, #LANE_LIMIT
    ldrexd r2, r3, [r1]
    cmp r8, r2
    sbcs r1, r12, r3
    blo text_done
    add r0, r0, r4
    b drop

/*
 * Text of a capture, as words of six bytes (units of 4 bytes: one unit): from r2 on, at most r12
 * bytes, up to a zero unit if UNIT is not 0. r11: the site of the first word. r9, r10: the clock,
 * in an event's format. r8: where the next slot stands, which is not reserved; moves on. Reads no
 * page that has no part of the text. Changes r1, r2, r3, r4 and r12. If a read faults, the tool
 * moves the thread to r0. All reads precede the change of r9.
 */
    .macro put_text unit
    add r4, r12, r2 /* the end */
1:
    .if \unit == 4
    ldr r12, [r2], #4
    .else
    mvn r3, r2
    ubfx r3, r3, #0, #12
    cmp r3, #6 - 1 /* bytes to the end of the page, less one */
    blo 4f
    ldr r12, [r2]
    ldrh r3, [r2, #4]
    add r2, r2, #6
3:  orr r9, r9, r3
    .endif
    ldr r1, [r6, #LANE_RING_MASK]
    and r1, r1, r8
    add r1, r1, r6
    add r1, r1, #LANE_RING
    stm r1, {r9, r10, r11, r12}
    add r11, r11, #4
    add r8, r8, #EVENT_BYTES
    .if \unit == 4
    cmp r12, #0
    beq text_done
    .else
    bfc r9, #0, #16
    .if \unit == 1
    movw r1, #0x0101
    movt r1, #0x0101
    uqsub8 r12, r1, r12 /* 1 in the place of a zero byte, else 0 */
    uqsub8 r3, r1, r3
    uxth r3, r3
    .elseif \unit == 2
    movw r1, #1
    movt r1, #1
    uqsub16 r12, r1, r12
    uqsub16 r3, r1, r3
    uxth r3, r3
    .endif
    .if \unit
    orrs r12, r12, r3
    bne text_done
    .endif
    .endif
    cmp r2, r4
    blo 1b
    bx r0
    .if \unit != 4
4:  mov r12, #0 /* unit by unit into the upper end of r3 and r12; the one bit leaves when six are in */
    mov r3, #0x10000
5:  mov r1, #0
    cmp r2, r4
    bhs 6f
    .if \unit == 2
    ldrh r1, [r2], #2
    cmp r1, #0
    moveq r4, r2 /* the text ends here */
6:  lsr r12, r12, #16
    orr r12, r12, r3, lsl #16
    lsr r3, r3, #16
    orr r3, r3, r1, lsl #16
    .else
    ldrb r1, [r2], #1
    .if \unit
    cmp r1, #0
    moveq r4, r2 /* the text ends here */
    .endif
6:  lsr r12, r12, #8
    orr r12, r12, r3, lsl #24
    lsr r3, r3, #8
    orr r3, r3, r1, lsl #24
    .endif
    tst r12, #1
    beq 5b
    lsr r12, r12, #16
    orr r12, r12, r3, lsl #16
    lsr r3, r3, #16
    b 3b
    .endif
    .endm

    .balign 16
text:
    put_text 1
text_wide:
    put_text 2
text_long:
    put_text 4
text_counted:
    put_text 0
text_done:
    bx r0
captures_end:
    .balign 16

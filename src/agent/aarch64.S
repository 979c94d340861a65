/*
 * The agent on AArch64. It has the tables of threads' lanes. It has code for threads without a
 * lane, for full rings, for the wait of the dynamic linker's hook, and for remote system calls. On
 * its bridge threads leave trampolines. Its last part makes remainders of calls that a stop cut
 * short.
 *
 * A copy stands at the start of each trampoline area. It is position independent and calls nothing.
 * The code that stubs jump to makes no system call and changes no flag. It uses only x0 to x3 and,
 * in slices and captures, x4 to x9, which the stub has saved. So a thread that is stopped here for a signal can
 * be rolled back to its site like one in a stub; x0 is an address in the stub. (The `br` to it
 * needs no landing instruction: areas are not guarded.)
 *
 * The agent begins with the tables of lanes (wire/lane_lookup.h). Only the tool writes them, and
 * the three words at `asks`, by /proc/PID/mem. Behind the tables are a branch for each of the
 * agent's entries, and struct arm_agent_labels, whose members are offsets from the start.
 */
#include "wire/lane_lookup.h"
#include "wire/ring.h"

#define RETRY_TO_RESERVE 40 /* bytes in a stub from `retry` to `reserve` */
#define OWNER_DIED_BIT 30   /* of CONTROL_OWNER_DIED */

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
    b guard
    b room
    b cramped
    b text
    b text_wide
    b text_long
    b text_counted
    .short seek - start, seek_end - start, wait - start, wait_released - start
    .short drop - start, drop_released - start, 0, drop_counted - start
    .short slice - start, hook - start, hook_seek_end - start, call - start, end - start
    .short bridge - start, gate - start, gate_saving - start, gate_saved - start, gate_restored - start
    .short 0, gate_end - start, notes - start, asks - start
    .short remainder - start, remainder_made - start, remainder_end - start
    .short guarded - start
    .short room - start, text - start, captures_end - start
    .balign 16
asks:
    .quad 0 /* lane_asks.control: is there a tool that finds lanes? */
    .quad 0 /* lane_asks.lane: for threads without a lane; its `hook` asks the tool to find them */
    .quad 0 /* lane_asks.owner: is there a tool that reads rings? */

/* Searches the keys from x2 on for x1, a thread pointer. Goes to FOUND with x2 behind the key. */
    .macro search_keys found
next_key\@:
    ldr x3, [x2], #LANE_KEY_BYTES
    sub x3, x3, x1
    cbz x3, \found
    adr x3, stack_ranges
    sub x3, x2, x3
    cbnz x3, next_key\@
    .endm

/* Searches the stack ranges of x1 for the stack pointer. Goes to FOUND with x2 behind the range. */
    .macro search_stack_ranges found
    adr x2, stack_ranges
next_range\@:
    ldr x3, [x2], #LANE_STACK_RANGE_BYTES
    sub x3, x3, x1
    cbz x3, check_range\@
wrong_range\@:
    ldur x3, [x2, #-LANE_STACK_RANGE_BYTES]
    add x3, x3, #1
    cbnz x3, next_range\@
    b no_range\@
check_range\@:
    ldur x3, [x2, #LANE_STACK_RANGE_LOW - LANE_STACK_RANGE_BYTES]
    sub x3, sp, x3
    tbnz x3, #63, wrong_range\@
    ldur x3, [x2, #LANE_STACK_RANGE_HIGH - LANE_STACK_RANGE_BYTES]
    sub x3, sp, x3
    tbz x3, #63, wrong_range\@
    b \found
no_range\@:
    .endm

/* Searches all stack ranges, then all keys, beginning with the key that x1's bits choose. */
    .macro search_all found
    search_stack_ranges \found
    ubfx x2, x1, #LANES_SHIFT, #LANES_BITS
    adr x3, start
    add x2, x3, x2, lsl #4
    search_keys \found
    adr x2, start
    search_keys \found
    .endm

/* Goes to GONE if the tool has died, by the struct control to which `asks` + AT points. */
    .macro check_tool at, gone
    ldr x2, asks + \at
    ldr w2, [x2]
    tbnz w2, #OWNER_DIED_BIT, \gone
    .endm

/* Asks the tool to give the thread a lane. Goes to GONE if there is no tool. */
    .macro ask gone
    check_tool 0, \gone
    ldr x3, asks + 8
    mov x2, #1
    str x2, [x3, #LANE_HOOK]
    yield
    .endm

/* The key that the bits of x1, the thread pointer, choose is not the thread's. Finds the lane, and
 * returns to `reserve` of the stub whose `retry` is x0, with x3 the lane. If the tool has died any
 * lane will do. */
seek:
    check_tool 16, seek_any_lane
    search_all seek_found
    ask seek_any_lane
    b seek
seek_end:
seek_any_lane:
    ldr x3, asks + 8
    b seek_return
seek_found:
    ldur x3, [x2, #8 - LANE_KEY_BYTES]
seek_return:
    add x0, x0, #RETRY_TO_RESERVE
    br x0

/* The wait for room in x3's lane is over: writes the event that tells when it began. The wait ends
 * with the next event. The slot is reserved after it is written. Changes the registers AT and
 * WORD. */
    .macro note_wait at, word
    ldr x\word, [x3, #LANE_HEAD]
    ldr x\at, [x3, #LANE_RING_MASK]
    and x\at, x\at, x\word
    add x\at, x\at, x3
    add x\at, x\at, #LANE_RING
    ldr x\word, [x3, #LANE_WAIT_SINCE]
    str x\word, [x\at, #EVENT_CLOCK_SP]
    movz w\word, #(WAIT_ID * 4 + EVENT_CONTROL_KIND) & 0xffff
    movk w\word, #(WAIT_ID * 4 + EVENT_CONTROL_KIND) >> 16, lsl #16
    str w\word, [x\at, #EVENT_SITE]
    ldr x\word, [x3, #LANE_HEAD]
    add x\word, x\word, #EVENT_BYTES
    stlr x\word, [x3]
    str xzr, [x3, #LANE_WAIT_SINCE]
    .endm

    .balign 16
/* OVERFLOW_WAIT: releases the slot in x3's lane, waits for room, and starts again at x0. */
wait:
    ldxr x1, [x3]
    sub x1, x1, #EVENT_BYTES
    stxr w2, x1, [x3]
    cbnz w2, wait
wait_released:
    ldr x1, [x3, #LANE_WAITS]
    add x1, x1, #1
    str x1, [x3, #LANE_WAITS]
    mrs x1, cntvct_el0
    lsl x1, x1, #16
    str x1, [x3, #LANE_WAIT_SINCE]
wait_for_room:
    ldr x1, [x3, #LANE_HEAD]
    ldr x2, [x3, #LANE_LIMIT]
    sub x2, x1, x2
    tbnz x2, #63, wait_over
    ldr x2, [x3, #LANE_CONTROL]
    ldr w2, [x2]
    tbnz w2, #OWNER_DIED_BIT, wait_without_tool
    yield
    b wait_for_room
wait_without_tool:
    mov x2, #0x7fffffffffffffff /* nothing reads the ring any more: overwrite it for ever */
    str x2, [x3, #LANE_LIMIT]
    br x0
wait_over:
    note_wait 2, 1
    br x0

    .balign 16
/* OVERFLOW_DROP: gives the reservation back, counts a lost event, and goes on at x0. */
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

/* Writes one slot of a slice with the site w2 and the value x6, 48 bits; changes x6, x7, x8. The
 * slot is reserved after it is written. Until then it is not read: readers of overwritten rings
 * leave out the slot at the head. So the slot before it must be seen reserved first. */
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
 * Records a slice of the stack from x1 on (STUB_SLICE) in x3's lane: LANE_SLICE_BYTES, but only to
 * the end of the thread's own stack. On other stacks it ends with the page, to which the stub has
 * just pushed. If x1 is a page's start, the pushes went to the page below, and nothing is read: a
 * function may begin at the very end of a stack, as calls push nothing.
 *
 * x4: the clock, in an event's format. x2: whether to wait for room. x0: the stub's `done`. x5: the
 * slice's end; 0: no room. Only registers decide what is read, since threads that are born after
 * spoor's death share a lane. Addresses are stored without their signatures. Words that are
 * addresses of the kernel, or too low, are left out.
 */
slice:
    ldr x5, [x3, #LANE_SLICE_BYTES]
    cbz x5, slice_done
    ldr x6, [x3, #LANE_CONTROL]
    ldr w6, [x6]
    tbnz w6, #OWNER_DIED_BIT, slice_done
    ldr x6, [x3, #LANE_STACK_LOW]
    sub x6, x1, x6
    tbnz x6, #63, slice_other_stack
    ldr x7, [x3, #LANE_STACK_BYTES]
    sub x7, x7, x6
    tbnz x7, #63, slice_other_stack
    cbnz x7, slice_limit_bytes
slice_other_stack:
    ubfx x7, x1, #0, #12
    cbz x7, slice_limit_bytes
    orr x7, x1, #~0xfff
    neg x7, x7
slice_limit_bytes: /* x7: bytes that can be read */
    sub x6, x7, x5
    tbnz x6, #63, slice_reserve
    mov x7, x5
slice_reserve:
    and x7, x7, #~7
    add x5, x1, x7
    lsl x7, x7, #1
    add x7, x7, #SLICE_HEAD_SLOTS * EVENT_BYTES
    ldr x8, [x3, #LANE_LIMIT]
    ldr x6, [x3, #LANE_HEAD]
    add x6, x6, x7
    sub x6, x8, x6
    tbz x6, #63, slice_write
    cbz x2, slice_without_room
    ldr x6, [x3, #LANE_WAITS]
    add x6, x6, #1
    str x6, [x3, #LANE_WAITS]
    str x4, [x3, #LANE_WAIT_SINCE]
    add x7, x7, #EVENT_BYTES
slice_wait_for_room:
    ldr x8, [x3, #LANE_LIMIT]
    ldr x6, [x3, #LANE_HEAD]
    add x6, x6, x7
    sub x6, x8, x6
    tbz x6, #63, slice_wait_over
    ldr x6, [x3, #LANE_CONTROL]
    ldr w6, [x6]
    tbnz w6, #OWNER_DIED_BIT, slice_done
    yield
    b slice_wait_for_room
slice_without_room: /* writes only the first slot: it shows that a slice is missing */
    ldr x6, [x3, #LANE_HEAD]
    add x6, x6, #EVENT_BYTES
    sub x6, x8, x6
    tbnz x6, #63, slice_done
    mov x5, #0
    b slice_write
slice_wait_over:
    note_wait 6, 8
slice_write:
    ldr x6, [x3, #LANE_SLICE_SLOTS]
    site SLICE_BEGIN_ID
    slot
    cbz x5, slice_done
    site (SLICE_BEGIN_ID + 1)
    mov x6, x5
    adr x9, slice_registers
    b slice_slot
slice_registers:
    .irp register, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29, x30
    add w2, w2, #4
    mov x6, \register
    adr x9, 1f
    b slice_slot
1:
    .endr
    site SLICE_WORD_ID
    ldr x9, [x3, #LANE_SLICE_BYTES]
    b slice_check_end
slice_word: /* writes the word at x1, if it may be an address */
    tbnz x9, #SLICE_TAGGED_BIT, slice_tagged_word
    ldr x6, [x1], #8
slice_check_word:
    tbnz x6, #55, slice_next_word
    ubfx x7, x6, #16, #32
    cbz x7, slice_next_word
    slot
slice_next_word:
    add w2, w2, #4
slice_check_end:
    sub x6, x5, x1
    cbnz x6, slice_word
slice_done:
    br x0
slice_tagged_word:
    mov x6, x1
    .inst 0xd9600026 /* ldg x6, [x1]: gives the address the tag of its memory */
    ldr x6, [x6]
    add x1, x1, #8
    b slice_check_word
slice_slot: /* `slot`, called with the return address in x9 */
    slot
    br x9

    .balign 16
/* Waits until the tool has looked at the modules (or is gone), then goes on at x0. */
hook:
    mrs x1, tpidr_el0
    search_all hook_lane_found
    ask hook_done
    b hook
hook_seek_end:
hook_lane_found:
    ldur x3, [x2, #8 - LANE_KEY_BYTES]
    mrs x1, cntvct_el0
    lsl x1, x1, #16
    str x1, [x3, #LANE_WAIT_SINCE]
    mov x2, #1
    str x2, [x3, #LANE_HOOK]
hook_wait_for_tool:
    ldr x2, [x3, #LANE_HOOK]
    cbz x2, hook_done
    ldr x2, [x3, #LANE_CONTROL]
    ldr w2, [x2]
    tbnz w2, #OWNER_DIED_BIT, hook_done
    yield
    b hook_wait_for_tool
hook_done:
    br x0

    .balign 16
/* The program is about to change the protection of memory. Its address and size, the program's x0
 * and x1, are on the stack. Waits as above if they overlap a guarded range, else goes on at x0. */
guard:
    adr x1, guarded
guard_next:
    ldr x2, [x1], #8
    cbz x2, hook_done
    ldr x3, [sp]
    sub x2, x2, x3
    ldr x3, [sp, #8]
    sub x2, x2, x3
    ldr x3, [x1], #8
    tbz x2, #63, guard_next /* the range begins behind the memory */
    ldr x2, [sp]
    sub x2, x2, x3
    tbz x2, #63, guard_next /* it ends before the memory */
    b hook

    .balign 16
/* A remote call by the tracer. If the tracer dies meanwhile, rt_sigreturn brings the thread back:
 * sp points at a signal frame with all registers (target/thread.c). */
call:
    svc #0
    mov x8, #139 /* rt_sigreturn */
    svc #0
    udf #0
end:
    .balign 16
guarded: /* struct guarded */
    .fill (GUARDED_MOST + 1) * 2, 8, 0
/*
 * Here one thread at a time runs the remaining straight code of a trampoline, with its signals
 * blocked (patch/crossing.c). The tool writes the instructions, a jump to the gate, the jump back,
 * and the notes. The gate's first call does nothing; the tool stops the thread there and moves it.
 * Without a tool the thread goes on: the second call restores its signal mask, and the gate jumps
 * to where the trampoline's code would have come. No flag changes. The gate uses 16 bytes of the
 * stack, half of the stub's.
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
    mov x1, #0   /* no signals */
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
    b . /* the tool writes the target */
gate_end:
    .org gate + BRIDGE_GATE_BYTES /* fails if it is longer */
    .balign 8
notes: /* struct bridge_notes in arch/bridge.h */
    .quad 0, 0, 0, 0
    .balign 16
/*
 * The remainder of a call that had transferred some bytes when a stop by spoor ended it
 * (tracer/syscall_resume.c). x9: the lane; x10: the first argument; all other registers are the
 * call's. The result is the sum, or if the remainder fails, what was done before. rt_sigreturn
 * restores all registers. The stack pointer is the program's up to the last instruction before it.
 */
remainder:
    svc #0
remainder_made:
    str x0, [x9, #LANE_REMAINDER + REMAINDER_RESULT]
    cmn x0, #512 /* ERESTARTSYS: recvmmsg returns it to have the call made again */
    b.eq remainder_repeat
    cmp x0, #0
    csel x0, x0, xzr, ge
    ldr x1, [x9, #LANE_REMAINDER + REMAINDER_DONE]
    add x0, x0, x1
    str x0, [x9, #LANE_REMAINDER + REMAINDER_FRAME + REMAINDER_FRAME_RESULT]
    mov x8, #139 /* rt_sigreturn */
    add sp, x9, #LANE_REMAINDER + REMAINDER_FRAME
    svc #0
    udf #0
remainder_repeat:
    mov x0, x10
    b remainder
remainder_end:
    .balign 16
/* A capture that waits for room: x2 is what it needs, in bytes, and x4 the clock. Starts again at
 * x0. */
room:
    ldr x1, [x3, #LANE_WAITS]
    add x1, x1, #1
    str x1, [x3, #LANE_WAITS]
    str x4, [x3, #LANE_WAIT_SINCE]
    add x6, x2, #EVENT_BYTES
room_wait:
    ldr x7, [x3, #LANE_HEAD]
    add x7, x7, x6
    ldr x8, [x3, #LANE_LIMIT]
    sub x7, x8, x7
    tbz x7, #63, room_found
    ldr x7, [x3, #LANE_CONTROL]
    ldr w7, [x7]
    tbnz w7, #OWNER_DIED_BIT, room_without_tool
    yield
    b room_wait
room_found:
    b wait_over
room_without_tool:
    b wait_without_tool

/* A capture without room, OVERFLOW_DROP: goes on at x0 with the event alone, the head in x5. If
 * there is no room for that either, counts it as lost and goes on x2 bytes behind that. */
cramped:
    ldr x5, [x3, #LANE_HEAD]
    ldr x6, [x3, #LANE_LIMIT]
    sub x6, x5, x6
    tbnz x6, #63, text_done
    add x0, x0, x2
    b drop_released

/*
 * Text of a capture, as words of six bytes (units of 4 bytes: one unit): from x7 on, at most x6
 * bytes, up to a zero unit if UNIT is not 0. x2: the site of the first word. x4: the clock, in an
 * event's format. x5: where the next slot stands, which is not reserved; moves on. Reads no page
 * that has no part of the text and, by an address with a tag, no such granule (MTE): it may have
 * another tag. Changes x1, x2 and x6 to x9. If a read faults, the tool moves the thread to x0.
 */
    .macro put_text unit
    add x6, x6, x7
1:
    .if \unit == 4
    ldr w8, [x7]
    .else
    lsr x8, x7, #56
    orr x9, x7, #~0xfff
    cbz x8, 2f
    orr x9, x7, #~0xf
2:  neg x9, x9 /* bytes to the end of page or granule */
    sub x9, x9, #8
    tbnz x9, #63, 4f
    ldr x8, [x7]
    .endif
3:  ldr x9, [x3, #LANE_RING_MASK]
    and x1, x5, x9
    add x1, x1, x3
    add x1, x1, #LANE_RING
    stp w2, w8, [x1, #EVENT_SITE]
    .if \unit == 4
    str x4, [x1, #EVENT_CLOCK_SP]
    .else
    ubfx x9, x8, #32, #16
    orr x9, x9, x4
    str x9, [x1, #EVENT_CLOCK_SP]
    .endif
    add w2, w2, #4
    add x5, x5, #EVENT_BYTES
    .if \unit == 4
    cbz w8, text_done
    add x7, x7, #4
    .else
    .if \unit
    ldr x9, text_lowest + 8 * (\unit - 1)
    ldr x1, text_highest + 8 * (\unit - 1)
    sub x9, x8, x9
    bic x9, x9, x8
    and x9, x9, x1
    cbnz x9, text_done
    .endif
    add x7, x7, #6
    .endif
    sub x9, x7, x6
    tbnz x9, #63, 1b
    br x0
    .if \unit != 4
4:  mov x8, #0 /* unit by unit: x9 bytes are in the upper part of x8 */
    mov x9, #0
5:  add x1, x7, x9
    .if \unit == 2
    ldrh w1, [x1]
    lsr x8, x8, #16
    orr x8, x8, x1, lsl #48
    add x9, x9, #2
    .else
    ldrb w1, [x1]
    lsr x8, x8, #8
    orr x8, x8, x1, lsl #56
    add x9, x9, #1
    .endif
    .if \unit
    cbz w1, 6f
    .endif
    add x1, x7, x9
    sub x1, x1, x6
    tbz x1, #63, 6f
    sub x1, x9, #6
    tbnz x1, #63, 5b
6:  lsl x1, x9, #3
    neg x1, x1
    lsr x8, x8, x1 /* by 64 - 8 * x9 */
    b 3b
    .endif
    .endm

    .balign 16
text:
    put_text 1
    .balign 16
text_wide:
    put_text 2
    .balign 16
text_long:
    put_text 4
    .balign 16
text_counted:
    put_text 0
text_done:
    br x0
captures_end:
    .balign 8
text_lowest: /* the lowest bit of each unit among six bytes, of units of one and two bytes */
    .quad 0x010101010101, 0x000100010001
text_highest:
    .quad 0x808080808080, 0x800080008000
    .balign 16

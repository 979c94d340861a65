/*
 * Event stubs for x86-64: the code that a patched site runs.
 *
 * A stub stands where the stack below rsp is dead: at a function's entry, right before a return and
 * at a tail jump. If a branch of the function leads to its entry, STUB_SKIP_RED_ZONE leaves the red
 * zone alone. A stub changes no register, and with STUB_SAVE_FLAGS no flag.
 *
 *     [lea  -128(%rsp),%rsp]     STUB_SKIP_RED_ZONE
 *     [pushfq]                   STUB_SAVE_FLAGS
 *     push  %rax; push %rdx
 *     mov   N(%rsp),%rax; movabs $low,%rdx        STUB_CALLER
 *     sub   %rdx,%rax; cmp $size,%rax; jae other
 *     push  %rcx
 *  retry:
 *     rdtsc; shl $48,%rdx; shl $16,%rax; or %rdx,%rax
 *     lea   retry|done(%rip),%rdx       where the slow path returns to
 *     mov   $16,%ecx; xadd %rcx,%gs:HEAD          reserve
 *     cmp   %gs:LIMIT,%rcx; jae agent             full
 *     lea   N(%rsp),%rdx                          rsp as it was at the site
 *     and   $ring-1,%ecx
 *     movl  $site,%gs:RING+8(%rcx); mov %edx,%gs:RING+12(%rcx)
 *     shr   $32,%rdx; or %rdx,%rax
 *     mov   %rax,%gs:RING(%rcx)                   commit
 *  done:
 *     pop   %rcx
 *  other:
 *     pop   %rdx; pop %rax; [popfq]; [lea 128(%rsp),%rsp]
 *
 * With STUB_GO_FIRST or STUB_GO_SECOND the event has, instead of rsp, the first or second word of a
 * Go function's arguments or results (rax, rbx; since Go 1.17).
 *
 * With STUB_CALLER an event is written only if the word on top of the stack is in the range of the
 * specification. At entries and exits that word is the return address.
 *
 * A STUB_SLICE stub precedes that of an entry. Between `push %rcx` and `done` it has
 *
 *     push  %rsi
 *  retry:
 *     rdtsc; shl $48,%rdx; shl $16,%rax; or %rdx,%rax
 *     lea   N(%rsp),%rcx; lea done(%rip),%rdx; mov $wait,%esi; jmp agent_slice
 *  done:
 *     pop   %rsi
 *
 * A STUB_CAPTURE stub also pushes rsi, rdi and r8. Behind the clock it has
 *
 *     the capture's code (capture.h)          r8 + AHEAD: where the event stands
 *  event:
 *     lea   N(%rsp),%rsi
 *     mov   %esi,%gs:RING+AHEAD+12(%r8); movl $site,%gs:RING+AHEAD+8(%r8)
 *     shr   $32,%rsi; or %rsi,%rax; mov %rax,%gs:RING+AHEAD(%r8)
 *     mov   %gs:HEAD,%rcx; and $-ring,%rcx; lea AHEAD+16(%rcx,%r8),%rcx
 *     mov   %rcx,%gs:HEAD                     reserve and commit
 *
 * With STUB_PLAIN it pushes only rax, rdx and rcx. Then rcx is where the capture's slots stand, and
 * rdx is free. The stub ends with
 *
 *     lea   N(%rsp),%rdx; mov %edx,…; movl $site,…; shr $32,%rdx; or %rdx,%rax; mov %rax,…
 *     addq  $AHEAD+16,%gs:HEAD
 *
 * A STUB_JUDGE stub has, between the pushes and the pops, the code of judge.h. That ends with
 *
 *     pop   %rcx …; jmp behind                    the event is not recorded
 *  go:
 *     pop   %rcx …                                the event's stub follows
 *
 * A STUB_HOOK stub has `lea done(%rip),%rdx; jmp agent_hook` between the pushes and `done`; with
 * STUB_GUARD it jumps to agent_guard.
 */
#pragma once

#include "arch/stub.h"

/* Writes the stub to OUT (room for STUB_MAX_BYTES) and returns its size in bytes. It must run at
 * the address that spec->agent was computed for. The site's code follows its last instruction. */
size_t stub_emit(uint8_t *out, const struct stub_spec *spec);

/* The state of a thread whose pc is OFFSET bytes into a stub. The pushed words are the flags (if
 * saved), rax, rdx, rcx, in slices rsi, and in captures rsi, rdi, r8, in this order. The skipped
 * red zone has 128 bytes. Sizes and offsets are those of stubs without a capture's code. Returns
 * false if no instruction begins at OFFSET. */
bool stub_state_at(uint8_t variant, enum overflow overflow, uint32_t offset,
                   struct stub_state *ret);

/* A stub's size; the offset of its 32-bit site, and the site; the offset of `retry`. */
uint32_t stub_size(uint8_t variant, enum overflow overflow);
uint32_t stub_site_offset(uint8_t variant, enum overflow overflow);
uint32_t stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow);
uint32_t stub_retry(uint8_t variant);
/* Offset of a capture's code in the stub of VARIANT; and how long the code of C is, at most. */
uint32_t stub_capture_at(uint8_t variant, enum overflow overflow);
uint32_t stub_capture_bytes(const struct capture *c);
/* STUB_* bits of a stub with the capture C. */
uint8_t stub_capture_variant(const struct capture *c, enum overflow overflow);
uint32_t stub_judge_bytes(enum judged judged, const struct predicate *predicate);

/* The agent: position-independent code at the start of each trampoline area. */
extern const uint8_t agent_bytes[];
extern const size_t agent_size; /* rounded up to 16 */
/* Offsets of its entry points within agent_bytes. */
struct agent_entries {
    uint16_t wait, wait_released, drop, drop_released, drop_counted, slice, hook;
    uint16_t hook_clock, hook_clocked, syscall, end; /* from hook_clock on rcx is rdx */
    uint16_t bridge, gate, gate_saving, gate_saved, gate_restored, gate_end, notes;
    uint16_t remainder, remainder_made, remainder_end;
    uint16_t guard, guarded;
    uint16_t room, cramped, pad, text, text_wide, text_long, text_counted;
    uint16_t captures_end; /* `room` is where the code of captures begins */
    uint16_t series;
};
struct agent_entries agent_entries(void);

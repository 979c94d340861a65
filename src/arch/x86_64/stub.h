/*
 * Event stubs for x86-64: the code that a patched site runs.
 *
 * A stub may stand where the stack below rsp is dead: at a function's entry,
 * right before a return and at a tail jump. (Where an entry is also a branch
 * target of its own function, STUB_SKIP_RED_ZONE keeps clear of the red zone.)
 * It changes no register, and with STUB_SAVE_FLAGS no flag.
 *
 *     [lea  -128(%rsp),%rsp]     STUB_SKIP_RED_ZONE
 *     [pushfq]                   STUB_SAVE_FLAGS
 *     push  %rax; push %rdx
 *     mov   N(%rsp),%rax; movabs $low,%rdx        STUB_CALLER
 *     sub   %rdx,%rax; cmp $size,%rax; jae other
 *     push  %rcx
 *  retry:
 *     rdtsc; shl $48,%rdx; shl $16,%rax; or %rdx,%rax
 *     lea   retry|done(%rip),%rdx       where the slow path comes back to
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
 * With STUB_GO_FIRST or STUB_GO_SECOND the event has, instead of rsp, the first or the second word
 * that a function of Go takes or gives back (rax, rbx; since Go 1.17).
 *
 * With STUB_CALLER an event is written only where the word on top of the stack, at entries and
 * exits the return address, lies in the range that the specification names.
 *
 * A STUB_SLICE stub, before that of an entry, has instead of what comes between `push %rcx` and
 * `done`
 *
 *     push  %rsi
 *  retry:
 *     rdtsc; shl $48,%rdx; shl $16,%rax; or %rdx,%rax
 *     lea   N(%rsp),%rcx; lea done(%rip),%rdx; mov $wait,%esi; jmp agent_slice
 *  done:
 *     pop   %rsi
 *
 * A STUB_HOOK stub replaces everything between the pushes and `done` by
 * `lea done(%rip),%rdx; jmp agent_hook`.
 */
#pragma once

#include "arch/stub.h"

/* Writes the stub to OUT (room for STUB_MAX_BYTES) and returns its size in bytes. It must run at
 * the address that spec->agent was computed for; falling off its end continues the site. */
size_t stub_emit(uint8_t *out, const struct stub_spec *spec);

/* What a thread whose pc is OFFSET bytes into a stub has done so far. The words that are pushed are
 * flags (if saved), rax, rdx, rcx, and of slices rsi, in this order; 128 bytes are skipped. OFFSET
 * must be an instruction boundary of the stub. Returns false if it is none. */
bool stub_state_at(uint8_t variant, enum overflow overflow, uint32_t offset,
                   struct stub_state *ret);

/* Its size, and where in it: the 32-bit site, and the instruction that a full ring comes back to.
 */
uint32_t stub_size(uint8_t variant, enum overflow overflow);
uint32_t stub_site_offset(uint8_t variant, enum overflow overflow);
uint32_t stub_site(const uint8_t *stub, uint8_t variant, enum overflow overflow);
uint32_t stub_retry(uint8_t variant);

/* The agent: position-independent code at the start of each trampoline area. */
extern const uint8_t agent_bytes[];
extern const size_t agent_size; /* rounded up to 16 */
/* Offsets of its entry points within agent_bytes. */
struct agent_entries {
    uint16_t wait, wait_released, drop, drop_released, drop_counted, slice, hook, syscall, end;
    uint16_t bridge, gate, gate_saving, gate_saved, gate_restored, gate_end, notes;
    uint16_t remainder, remainder_made, remainder_end;
};
struct agent_entries agent_entries(void);

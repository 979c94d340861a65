/*
 * A stopped thread's general registers, and what the tracer reads and changes in them. Pure
 * functions, implemented for the host only (a tracer and its targets run on one machine).
 */
#pragma once

#include "arch/host.h"
#include "arch/stub.h"
#include "base/types.h"

taddr_t regs_pc(const struct regs *regs);
/* Also clears what the processor remembers of the last branch (BTYPE of AArch64). */
void regs_set_pc(struct regs *regs, taddr_t pc);
/* Whether the thread runs code of the machine's other state (arch.other). */
bool regs_is_other(const struct regs *regs);
/* ADDR, code of the state of REGS, as branches through registers and memory encode it. */
taddr_t regs_code_pointer(const struct regs *regs, taddr_t addr);
/* Sets the state in which the code at the pc runs. OTHER: the second of two (arch.other). IT: the
 * ITSTATE inside a T32 block; else 0. */
void regs_set_state(struct regs *regs, bool other, uint8_t it);
/* Pops the word VALUE into register NUMBER. */
void regs_pop(struct regs *regs, uint8_t number, uint64_t value);
taddr_t regs_sp(const struct regs *regs);
void regs_set_sp(struct regs *regs, taddr_t sp);
/* The caller's registers after the call, as far as a slice (wire/ring.h) shows them. VALUES: the
 * slice's registers. SP: the stack pointer at the entry. TOP: the word at SP. */
void regs_set_slice(struct regs *regs, const uint64_t values[SLICE_REGISTERS], taddr_t sp,
                    uint64_t top);

/* Registers by DWARF number. The pc has the bit of the machine's state, as in return addresses. */
void regs_dwarf(const struct regs *regs, uint64_t ret[REGS_DWARF_COUNT]);
/* The return address of a function that has pushed nothing, from REGISTERS (by DWARF number).
 * False: the address is on top of the stack. */
bool regs_link(const uint64_t registers[REGS_DWARF_COUNT], uint64_t *ret);
/* KEPT is a return address in a register or on the stack. The first function removes its
 * authentication code; the second also removes the bit of the machine's state. */
taddr_t regs_kept_address(uint64_t kept);
taddr_t regs_plain_address(uint64_t kept);
/* Whether BYTES are the code to which a signal handler returns, and which calls rt_sigreturn.
 * *ret_frame: the base of regs_signal_offset(), relative to the stack pointer there. */
bool regs_is_signal_return(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES], size_t *ret_frame);
/* Offset of the saved register NUMBER (DWARF) from that base. */
size_t regs_signal_offset(int number);
/* PC as a return address. STATE is the saved register REGS_SIGNAL_STATE. */
taddr_t regs_in_state(taddr_t pc, uint64_t state);
/* Whether BYTES end the thread that runs them. */
bool regs_is_thread_end(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES]);

/* Makes REGS call system call NUMBER with ARGS (six) by the system call instruction at CODE, with
 * the stack at SP. Triggers no pending restart of an interrupted system call. */
void regs_set_syscall(struct regs *regs, taddr_t code, taddr_t sp, long number,
                      const uint64_t args[6]);
/* Makes REGS make the COUNT calls of the table at TABLE, one after the other, by the agent's code
 * for that at CODE (agent_series()); and the table's entry that comes next. */
enum { REMOTE_ENTRY_BYTES = 72 };
void regs_set_series(struct regs *regs, taddr_t code, taddr_t sp, taddr_t table, size_t count);
taddr_t regs_series_entry(const struct regs *regs);
/* The result after the call. Failure: −errno, between −4095 and −1; no address is, whatever its
 * size. */
int64_t regs_syscall_result(const struct regs *regs);
/* The thread stands behind a call: gives it RESULT, and its argument registers ARGS. */
void regs_set_syscall_result(struct regs *regs, int64_t result, const uint64_t args[6]);

/* The system call that the stopped thread is in, and its first argument. False: it is in none. */
bool regs_call(const struct regs *regs, long *ret_number, uint64_t *ret_argument);

/* The call from which the stopped thread has returned, as far as its registers show. On AArch64 the
 * first argument is overwritten by the result. False: no call. */
struct past_call {
    long number;
    uint64_t args[6];
    int64_t result;
};
bool regs_past_call(const struct regs *regs, struct past_call *ret);

/* The tracer stopped the thread in a system call that the kernel would restart on its way back
 * (ERESTART*). Does the same restart to REGS, which go into a signal frame. rt_sigreturn makes the
 * kernel forget the progress of a timed call, so the call begins anew. */
void regs_finish_restart(struct regs *regs);
/* Whether the kernel would restart a call if REGS were given to a thread that stands behind one.
 * It does not if REGS say that the thread is in no call. The kernel restarts only on the way back
 * from a stop by the tracer or by a signal. If a handler runs first, calls of which programs may
 * rely on it fail with EINTR instead. */
bool regs_would_restart(const struct regs *regs);
/* Where in the agent of the trampoline area AREA a thread with REGS stands. */
enum agent_place {
    AGENT_OUTSIDE,
    AGENT_RESERVED, /* in the slow path, with the slot still reserved */
    AGENT_RELEASED, /* in the slow path, nothing reserved */
    AGENT_DROPPED,  /* in the slow path, the event is counted as lost */
    AGENT_HOOK,     /* waits for the tool */
    AGENT_BRIDGE    /* on its way out of a trampoline (bridge.h) */
};
enum agent_place regs_agent_place(const struct regs *regs, taddr_t area);
/* If the thread is searching the agent's tables (wire/lane_lookup.h) for its lane: makes it start
 * again, as the tool has changed them. Returns whether it was. Of hosts with tables. */
bool regs_restart_lane_lookup(struct regs *regs, taddr_t area);
/* In the agent of AREA: the address in the stub to which the thread will return. *RET_OTHER: the
 * stub is code of the machine's other state (arch.other). */
taddr_t regs_agent_return(const struct regs *regs, taddr_t area, bool *ret_other);
/* If the thread is where the agent of AREA reads the clock, and may fault: it goes on as if the
 * clock were 0. Returns whether it was. */
bool regs_skip_agent_clock(struct regs *regs, taddr_t area);

/* The thread may have faulted in a read of a value, in a stub of AREA or in its agent. True: in the
 * agent. *RET_BACK is where in the stub it would go on without the value. */
bool regs_read_fault(const struct regs *regs, taddr_t area, taddr_t *ret_back);

/* Undoes a stub's changes to the registers. STATE says how far the stub came; WORDS are the
 * STATE->pushed words at the stack pointer, in address order. */
void regs_leave_stub(struct regs *regs, uint8_t variant, const struct stub_state *state,
                     const uint64_t *words);
/* If STATE is unsure: whether the slot is reserved. */
bool regs_slot_is_reserved(const struct regs *regs);
/* Whether CODE, of SIZE bytes in an area, begins with an instruction that only stubs have and that
 * cannot run on the bridge (bridge.h). OTHER, here and below: CODE is of the other state. */
bool regs_is_stub_code(bool other, const uint8_t *code, size_t size);
/* CODE begins inside such a stub. *RET: offset of the instructions that restore registers; the
 * thread may go there at once. False: they are not within SIZE bytes. */
bool regs_find_stub_end(bool other, const uint8_t *code, size_t size, size_t *ret);
/* The thread stands at the entry of a function: its first integer arguments. */
enum { REGS_ARGUMENTS = 3 };
void regs_arguments(const struct regs *regs, uint64_t ret[REGS_ARGUMENTS]);
/* The thread stands in a stub or the agent and has reserved a slot: is it in the lane at AT? */
bool regs_has_lane(const struct regs *regs, taddr_t at);

/* The thread stands at a syscall-entry-stop: makes it issue the same call again later, instead. */
void regs_postpone_syscall(struct regs *regs);

/* Whether the register by which stubs find lanes is in use; whether this call sets it. */
bool regs_lane_taken(const struct regs *regs);
bool regs_call_sets_lane(long number, uint64_t argument);

/* The value that the stub of VARIANT and SITE stores besides site and clock, for a thread that
 * reaches it with REGS. */
taddr_t regs_stub_value(const struct regs *regs, uint8_t variant, uint32_t site);

/* The thread's lane, if a register of REGS holds it; else 0. */
taddr_t regs_lane(const struct regs *regs);
/* The thread stands at a function's begin or end: its return address, if a register holds it.
 * False: the stack does. */
bool regs_return_address(const struct regs *regs, taddr_t *ret);

/* Whether the thread raises SIGTRAP after each instruction. The program has set the flag, or the
 * tracer has stepped over an instruction that sets flags: the kernel then forgets that the flag was
 * the tracer's (Linux arch/x86/kernel/step.c). */
bool regs_trap_flag(const struct regs *regs);
void regs_set_trap_flag(struct regs *regs, bool set);

/* Access to the thread's memory and to registers outside REGS. Both return false on failure. */
struct regs_access {
    bool (*read)(const void *from, taddr_t at, regs_word_t *ret);
    /* Writes COUNT words to floating-point registers, from number FIRST on. Registers of 32 bits,
     * and the halves of wider ones, are numbered from 0. NULL: regs_emulate() never needs it. */
    bool (*fill)(const void *from, unsigned first, const regs_word_t *words, unsigned count);
    const void *from;
};
/* Executes on REGS the instruction at their pc, of which CODE is the first ROOM bytes. Only for
 * branches, and for instructions that read the pc and so cannot run on the bridge (bridge.h). */
enum regs_emulated {
    REGS_NOT_EMULATED, /* nothing is done: another instruction, or one that the processor should run
                        */
    REGS_EMULATED,
    REGS_RETURNED /* by a return, of which a shadow stack would have to know */
};
enum regs_emulated regs_emulate(struct regs *regs, const uint8_t *code, size_t room,
                                const struct regs_access *reach);

/* Extended state as ptrace returns it for REGS_EXTENDED_NOTE; may be empty. */
struct regs_extended {
    const uint8_t *bytes;
    size_t size;
};
/* Writes a signal frame for address AT (64-byte aligned) to OUT (regs_signal_frame_size() bytes).
 * It restores REGS when rt_sigreturn is called with the stack pointer at AT + REGS_FRAME_SP. */
size_t regs_signal_frame_size(size_t extended_size);
void regs_signal_frame(uint8_t *out, taddr_t at, const struct regs *regs, uint64_t signal_mask,
                       const struct regs_extended *extended);

/* On hosts with tables of lanes: the place of a thread that stands at OFFSET of an area, in the
 * code of the agent for full rings, or at its entry. */
enum agent_place regs_full_ring_place(const struct regs *regs, uint64_t offset);

/* The registers that such a FRAME restores. These three exist on hosts where a frame ends the
 * remainder of a call (remainder.h). The other two set and get the address of the lane in the
 * registers of a thread that makes a remainder. */
void regs_from_frame(const uint8_t *frame, struct regs *ret);
void regs_set_remainder_lane(struct regs *regs, taddr_t lane);
taddr_t regs_remainder_lane(const struct regs *regs);

/* The interrupted code's registers in the kernel's frame of a signal handler. */
struct regs_context {
    taddr_t pc, sp;
    taddr_t link; /* a register that may hold a return address, plain; 0: none */
};
/* Whether WORDS look like the part of such a frame that holds pc and stack pointer. */
bool regs_look_like_context(const regs_word_t words[REGS_CONTEXT_WORDS], struct regs_context *ret);

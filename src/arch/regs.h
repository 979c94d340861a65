/*
 * A stopped thread's general registers, and the few things the tracer does to
 * them. Pure functions; the host's architecture provides them (a tracer and its
 * targets run on one machine).
 */
#pragma once

#include "arch/host.h"
#include "arch/stub.h"
#include "base/types.h"

taddr_t regs_pc(const struct regs *regs);
/* What the processor keeps of a branch to the old place (BTYPE of AArch64) goes. */
void regs_set_pc(struct regs *regs, taddr_t pc);
/* Whether it runs code of the machine's other state (arch.other). */
bool regs_is_other(const struct regs *regs);
/* How branches through registers and memory name ADDR, code of the state that REGS are in. */
taddr_t regs_name_code(const struct regs *regs, taddr_t addr);
/* Which of its states the machine runs what the pc leads to in: the OTHER one of two (arch.other),
 * and IT, in the midst of a block of T32: its ITSTATE; else 0. */
void regs_set_state(struct regs *regs, bool other, uint8_t it);
/* Takes VALUE, a word, off the stack, into register NUMBER. */
void regs_pop(struct regs *regs, uint8_t number, uint64_t value);
taddr_t regs_sp(const struct regs *regs);
void regs_set_sp(struct regs *regs, taddr_t sp);
/* What a slice (wire/ring.h) tells of the caller: its registers as they will be when the call has
 * returned. VALUES: the slice's; SP: that of the entry, and TOP the word that stood there. */
void regs_set_slice(struct regs *regs, const uint64_t values[SLICE_REGISTERS], taddr_t sp,
                    uint64_t top);

/* The pc with what tells the state of the machine, as return addresses have it. */
void regs_dwarf(const struct regs *regs, uint64_t ret[REGS_DWARF_COUNT]);
/* Where a function that has put nothing on the stack returns to, by REGISTERS, numbered so. False:
 * that is on top of the stack. */
bool regs_link(const uint64_t registers[REGS_DWARF_COUNT], uint64_t *ret);
/* A return address as it is kept in a register or on the stack, without what authenticates it; and
 * the address alone, without what tells the state of the machine there. */
taddr_t regs_kept_address(uint64_t kept);
taddr_t regs_plain_address(uint64_t kept);
/* Whether BYTES are the code that a signal handler returns to, which has the kernel restore
 * registers. *ret_frame: where what regs_signal_offset() counts from is, relative to the stack
 * pointer there. */
bool regs_is_signal_return(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES], size_t *ret_frame);
/* Where it restores register NUMBER (as above) from. */
size_t regs_signal_offset(int number);
/* PC as a return address has it, of which what is restored by number REGS_SIGNAL_STATE tells the
 * state. */
taddr_t regs_in_state(taddr_t pc, uint64_t state);
/* Whether BYTES end the thread that comes to them. */
bool regs_is_thread_end(const uint8_t bytes[REGS_SIGNAL_RETURN_BYTES]);

/* Makes REGS call system call NUMBER with ARGS (six) at CODE, an instruction that calls the kernel,
 * with the stack at SP. No pending restart of an interrupted system call is triggered by it. */
void regs_set_syscall(struct regs *regs, taddr_t code, taddr_t sp, long number,
                      const uint64_t args[6]);
/* After it: the result, −errno on failure, which lies between −4095 and −1; addresses do not, of
 * whatever size. */
int64_t regs_syscall_result(const struct regs *regs);
/* The thread stands behind a call, which shall have had ARGS and RESULT. */
void regs_set_syscall_result(struct regs *regs, int64_t result, const uint64_t args[6]);

/* The system call that the thread, stopped, is in, and its first argument. False: in none. */
bool regs_call(const struct regs *regs, long *ret_number, uint64_t *ret_argument);

/* The call that the thread, stopped, has come back from, as far as its registers tell; on AArch64
 * the first argument is the result. False: from none. */
struct past_call {
    long number;
    uint64_t args[6];
    int64_t result;
};
bool regs_past_call(const struct regs *regs, struct past_call *ret);

/* The thread was stopped by us while in a system call that the kernel would restart on its way
 * back (ERESTART*): does the same to REGS, which go into a signal frame. rt_sigreturn makes the
 * kernel forget how far a timed call has come, so it begins anew. */
void regs_finish_restart(struct regs *regs);
/* Whether the kernel would take REGS for those of a call that it has to restart, if they were given
 * to a thread that stands behind one (which it does not, where they say that it is in none). It
 * does so only on the way back from a stop of ours or of a signal; if a handler runs first, the
 * call fails with EINTR instead, where that is what the program may rely on. */
bool regs_seem_to_restart(const struct regs *regs);
/* Where in the agent of the trampoline area AREA a thread with REGS stands. */
enum agent_place {
    AGENT_OUTSIDE,
    AGENT_RESERVED, /* in the slow path, with the slot still reserved */
    AGENT_RELEASED, /* in the slow path, nothing reserved */
    AGENT_DROPPED,  /* in the slow path, the event is counted as lost */
    AGENT_HOOK,     /* waits for the tool */
    AGENT_BRIDGE    /* is brought out of a trampoline (bridge.h) */
};
enum agent_place regs_agent_place(const struct regs *regs, taddr_t area);
/* If the thread looks there for its lane: it begins with that anew, as the tables
 * (wire/lane_lookup.h) have been written meanwhile. Of hosts with such tables. */
bool regs_seek_again(struct regs *regs, taddr_t area);
/* In the agent: the address in the stub that the thread would come back to; OTHER: it is of the
 * machine's other state (arch.other). */
taddr_t regs_agent_return(const struct regs *regs, bool *ret_other);

/* Undoes what a stub has done to the registers: STATE says how far it got, WORDS are the
 * STATE->pushed words at the stack pointer, in address order. */
void regs_leave_stub(struct regs *regs, uint8_t variant, const struct stub_state *state,
                     const uint64_t *words);
/* Where STATE is unsure: whether the slot is reserved. */
bool regs_has_reserved(const struct regs *regs);
/* Whether CODE, of SIZE bytes in an area, begins with an instruction that only stubs have and that
 * cannot be run on the bridge (bridge.h). OTHER, here and below: it is of the other state. */
bool regs_is_stub_code(bool other, const uint8_t *code, size_t size);
/* CODE is of such a stub, from some instruction on: how far behind that it begins to give registers
 * back, which may be done at once. False: that is not in sight. */
bool regs_find_stub_end(bool other, const uint8_t *code, size_t size, size_t *ret);
/* The thread stands in a stub or the agent and has reserved a slot: of the lane at AT? */
bool regs_has_lane(const struct regs *regs, taddr_t at);

/* The thread stands at its entry to a system call: it shall make it once more, instead. */
void regs_postpone_syscall(struct regs *regs);

/* Whether the register through which stubs find lanes holds something; the call that sets it. */
bool regs_lane_taken(const struct regs *regs);
bool regs_call_sets_lane(long number, uint64_t argument);

/* What the stub of VARIANT, which tells SITE, writes besides that and the clock for a thread that
 * comes to it with REGS. */
taddr_t regs_stub_value(const struct regs *regs, uint8_t variant, uint32_t site);

/* The register through which stubs find the thread's lane, where it is a general one; else 0. */
taddr_t regs_lane(const struct regs *regs);
/* The thread stands where a function begins or ends: the address that it was called from, if that
 * is in a register, and not on the stack. */
bool regs_return_address(const struct regs *regs, taddr_t *ret);

/* Whether the thread raises SIGTRAP after each instruction, by its own wish or because it was
 * stepped over an instruction that sets flags: the kernel forgets then that the wish was the
 * tracer's (Linux arch/x86/kernel/step.c). */
bool regs_trap_flag(const struct regs *regs);
void regs_set_trap_flag(struct regs *regs, bool set);

/* The thread's memory and what of its registers REGS does not hold; false: that cannot be done. */
struct regs_reach {
    bool (*read)(const void *from, taddr_t at, regs_word_t *ret);
    /* Writes COUNT words to floating-point registers; those of 32 bits, and the halves of others,
     * are numbered from 0. NULL where no instruction that is taken writes any. */
    bool (*fill)(const void *from, unsigned first, const regs_word_t *words, unsigned count);
    const void *from;
};
/* Does to REGS what the instruction at their pc does, of which CODE is the first ROOM bytes: a
 * branch, or what cannot be run on the bridge (bridge.h) because it reads the pc. */
enum regs_taken {
    REGS_NOT_TAKEN, /* nothing: it is none of these, or one that is better left to the processor */
    REGS_TAKEN,
    REGS_RETURNED /* by a return, of which a shadow stack would have to know */
};
enum regs_taken regs_take(struct regs *regs, const uint8_t *code, size_t room,
                          const struct regs_reach *reach);

/* Extended state as REGS_EXTENDED_NOTE gives it; may be empty. */
struct regs_extended {
    const uint8_t *bytes;
    size_t size;
};
/* A signal frame that restores REGS when rt_sigreturn is made with the stack pointer at its
 * address + REGS_FRAME_SP. Writes to OUT (room for regs_signal_frame_size()) as for address AT
 * (64-byte aligned). */
size_t regs_signal_frame_size(size_t extended_size);
void regs_signal_frame(uint8_t *out, taddr_t at, const struct regs *regs, uint64_t signal_mask,
                       const struct regs_extended *extended);

/* The registers that FRAME, one of the above, restores. Of hosts where the rest of a call is come
 * back from by one (remainder.h), as is: the lane is at LANE, and its registers are those of such a
 * rest. */
void regs_from_frame(const uint8_t *frame, struct regs *ret);
void regs_set_remainder_lane(struct regs *regs, taddr_t lane);
taddr_t regs_remainder_lane(const struct regs *regs);

/* Where a signal handler returns to, of the frame that the kernel has made for it. */
struct regs_context {
    taddr_t pc, sp;
    taddr_t link; /* what may be a return address in a register, plain; 0: none is, or of no use */
};
/* Whether WORDS are of such a frame: the part that holds pc and stack pointer. */
bool regs_look_like_context(const regs_word_t words[REGS_CONTEXT_WORDS], struct regs_context *ret);

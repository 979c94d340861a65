/*
 * Finds the calls on a thread's stack, from a copy that was made while the thread was stopped. The
 * process may run on meanwhile.
 *
 * Callers are found by call-frame information (.eh_frame or .debug_frame, read by libdw). Code that
 * has none is unwound by frame pointers or by the return address on top of the stack. On 32-bit Arm
 * its unwind tables (.ARM.exidx) and the code itself help. Nothing on a stack is trusted: each
 * frame's CFA lies above the one before, each pc lies in executable memory, and the number of
 * frames is limited.
 *
 * An unwinder serves one process with the maps of one moment, and one calling thread at a time. It
 * opens files when a pc first leads to them, and keeps rows: threads mostly stop in the same few
 * places.
 */
#pragma once

#include "arch/regs.h"
#include "base/mem.h"
#include "target/maps.h"
#include "unwind/frame.h"

struct unwinder;
/* MAPS is borrowed. */
struct unwinder *unwinder_new(const struct maps *maps, const struct unwind_files *files);
void unwinder_free(struct unwinder *u);
/* Opens all files now that the unwinder may need later. */
void unwinder_open_files(struct unwinder *u);

struct unwind_stack {
    struct regs regs;
    /* The stack's memory: one piece, or two if a signal handler runs on a stack of its own. */
    const struct unwind_piece *pieces;
    size_t count;
    bool returned; /* pc is a return address, and the stack pointer is that after the return */
    size_t most;   /* most frames; 0: UNWIND_MAX */
};

enum { UNWIND_MAX = 10000 };

typedef ARRAY(struct unwind_frame) unwind_frames;

/* Adds the frames to RET, innermost first. Returns why the walk ended. */
enum unwind_end unwind_stack(struct unwinder *u, const struct unwind_stack *stack,
                             unwind_frames *ret);

/* The same walk, frame by frame. STACK's pieces must live until the last one. */
void unwind_begin(struct unwinder *u, const struct unwind_stack *stack);
/* False: *RET is the last frame, and *RET_END says why. */
bool unwind_next(struct unwinder *u, struct unwind_frame *ret, enum unwind_end *ret_end);
/* The registers of the next frame, numbered as by regs_dwarf(), with the pc as a register holds it
 * (Arm: with the Thumb bit). An unknown register is 0, or has an older value. */
const uint64_t *unwind_registers(const struct unwinder *u);
/* True if PC, where a walk would begin, is in executable memory. */
bool unwind_is_possible(const struct unwinder *u, taddr_t pc);

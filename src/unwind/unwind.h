/*
 * The calls on a thread's stack, from a copy of it that was made while the thread stood still: the
 * process itself may run on meanwhile.
 *
 * Callers are found by call-frame information (libdw's, of .eh_frame or .debug_frame), and where
 * code has none, by frame pointers or by what the stack pointer points to; on 32-bit Arm by its
 * unwind tables (.ARM.exidx), and by following the code. Nothing that stands on a
 * stack is trusted: every frame's CFA lies above the one before, every pc in executable memory, and
 * there is an end to it.
 *
 * An unwinder serves one process as it was mapped at one time, one thread of the caller at a time.
 * Files are opened when a pc first leads to them, rules are kept: threads mostly stand in the same
 * few places.
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
/* Opens all files now that may be needed later. */
void unwinder_open_files(struct unwinder *u);

struct unwind_stack {
    struct regs regs;
    /* Where frames lie: one piece, or, with a signal handler on a stack of its own, two. */
    const struct unwind_piece *pieces;
    size_t count;
    bool returned; /* pc is where a call returns to, and the stack pointer what it is then */
    size_t most;   /* frames; 0: UNWIND_MAX */
};

enum { UNWIND_MAX = 10000 };

typedef ARRAY(struct unwind_frame) unwind_frames;

/* Adds the frames to RET, the innermost first. */
enum unwind_end unwind_stack(struct unwinder *u, const struct unwind_stack *stack,
                             unwind_frames *ret);

/* The same, frame by frame. STACK's pieces must stay until the last one. */
void unwind_begin(struct unwinder *u, const struct unwind_stack *stack);
/* False: *RET is the last one, and *RET_END says why. */
bool unwind_next(struct unwinder *u, struct unwind_frame *ret, enum unwind_end *ret_end);
/* The registers of the frame that comes next, numbered as by regs_dwarf(), the pc as the machine
 * names it. What is not known is 0, or as it was. */
const uint64_t *unwind_registers(const struct unwinder *u);
/* Whether PC, where a walk would begin, is in executable memory. */
bool unwind_is_possible(const struct unwinder *u, taddr_t pc);

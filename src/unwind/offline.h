/*
 * Finds the calls of a program that is gone, or ran on another computer: from its registers, a copy
 * of its stack and its image, by call-frame information.
 *
 * Nothing is invented. A caller is shown only if three things hold: its source can be trusted (a
 * rule of call-frame information, the processor's own record of an exception); all registers and
 * memory that this needs are known; and a call instruction stands before the return address.
 * Otherwise the walk ends, and says why.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "elf/lineinfo.h"
#include "unwind/unwind.h"

enum { OFFLINE_REGISTERS_MOST = 33, OFFLINE_MOST = 10000 };

/* A processor whose programs can be unwound. Opaque. */
struct offline_machine;
/* The one of images of MACHINE (EM_*); NULL: not supported. */
const struct offline_machine *offline_machine(uint16_t machine);

struct offline_registers { /* by DWARF number */
    uint64_t value[OFFLINE_REGISTERS_MOST];
    uint64_t known; /* bit n: value[n] is known */
    uint64_t psp;   /* Cortex-M: the process stack pointer, beside sp */
    bool psp_is_known;
};

/* Reads "NAME=VALUE", separated by commas or blanks, with the names that debuggers use. Values are
 * hexadecimal behind 0x, else decimal. Registers that say nothing about the stack (flags, vectors)
 * are skipped. Errors, EINVAL: "bad-register" (unknown name, no value), "no-register" (pc or sp is
 * missing). */
int offline_registers_read(const struct offline_machine *machine, const char *text,
                           struct offline_registers *ret, struct err *err);
uint64_t offline_sp(const struct offline_machine *machine, const struct offline_registers *r);

struct offline_program {
    struct lineinfo *info;
    const struct offline_machine *machine; /* that of the image */
    uint64_t bias;                         /* run-time minus link-time addresses */
    const struct unwind_piece *pieces;     /* copies of its memory */
    size_t piece_count;
};

/* How a frame was found. */
enum offline_how {
    OFFLINE_REGISTERS,     /* the innermost frame: the given registers */
    OFFLINE_CFI,           /* by call-frame information of its callee */
    OFFLINE_LINK_REGISTER, /* likewise, with the return address still in its register; or a call led
                              to a place without code */
    OFFLINE_EXCEPTION,     /* the processor stacked its registers (Cortex-M) */
    OFFLINE_SIGNAL,        /* the kernel stacked its registers */
    OFFLINE_RETURN_ADDRESS, /* a call to a place without code left it on top of the stack */
    OFFLINE_CODE,           /* the callee's code was followed to its return */
    OFFLINE_PROLOGUE,       /* the callee's code was followed from its start */
    OFFLINE_EXIDX           /* by Arm's unwind tables */
};
const char *offline_how_name(enum offline_how how);

struct offline_frame {
    uint64_t pc;  /* return address, or next instruction if `exact`; as a register holds it */
    vaddr_t addr; /* the same as a link-time address, if is_code */
    bool is_code;
    bool exact;
    enum offline_how how;
};
typedef ARRAY(struct offline_frame) offline_frames;

/*
 * Adds the frames to RET, innermost first. *RET_END says why there are no more:
 *
 *    "bottom"         the last frame has no caller
 *    "no-return"      it never returns and has kept no return address
 *    "cut"            the next frame needs memory that is not in the pieces
 *    "no-register"    it needs a register that is not known
 *    "no-code"        the return address is not in the image's code
 *    "no-call"        no call stands before the return address
 *    "no-cfi", "no-stack", "loop", "bad-exception", "deep"
 */
void offline_unwind(const struct offline_program *program, const struct offline_registers *from,
                    offline_frames *ret, struct err *ret_end);

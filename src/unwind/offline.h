/*
 * The calls of a program that is gone, or of another computer: from its registers, a copy of its
 * stack and its image, by call-frame information.
 *
 * Nothing is invented: a caller is shown only if what says where it is can be trusted (a rule of
 * call-frame information, the processor's own record of an exception), if all that this needs is
 * known, and if a call instruction stands before the address that is returned to. Else the walk
 * ends, and says why.
 */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "elf/lineinfo.h"
#include "unwind/unwind.h"

enum { OFFLINE_REGISTERS_MOST = 33, OFFLINE_MOST = 10000 };

/* A machine that can be unwound; opaque but for its name. */
struct offline_machine;
/* NULL: there is none for images of MACHINE (EM_*). */
const struct offline_machine *offline_machine(uint16_t machine);

struct offline_registers { /* by numbers of DWARF */
    uint64_t value[OFFLINE_REGISTERS_MOST];
    uint64_t known; /* bit n: value[n] is */
    uint64_t psp;   /* Cortex-M: the process stack pointer, beside sp */
    bool psp_is_known;
};

/* Reads "NAME=VALUE", separated by commas or blanks, with the names that debuggers use; values are
 * hexadecimal behind 0x, else decimal. What says nothing about the stack (flags, vector registers)
 * is passed over. Errors, EINVAL: "bad-register" (unknown name, no value), "no-register" (pc or sp
 * is missing). */
int offline_registers_read(const struct offline_machine *machine, const char *text,
                           struct offline_registers *ret, struct err *err);
uint64_t offline_sp(const struct offline_machine *machine, const struct offline_registers *r);

struct offline_program {
    struct lineinfo *info;
    const struct offline_machine *machine; /* its own */
    uint64_t bias;                         /* of where it ran to where it was linked to */
    const struct unwind_piece *pieces;     /* of its memory */
    size_t piece_count;
};

/* How a frame was found. */
enum offline_how {
    OFFLINE_REGISTERS,      /* it is where the registers are */
    OFFLINE_CFI,            /* by call-frame information of the frame below it */
    OFFLINE_LINK_REGISTER,  /* likewise, which says that the return address was still there; or the
                               frame below it is where no code is, and a call has led there */
    OFFLINE_EXCEPTION,      /* the processor has stacked it (Cortex-M) */
    OFFLINE_SIGNAL,         /* the kernel has */
    OFFLINE_RETURN_ADDRESS, /* the call that led nowhere has left it on top of the stack */
    OFFLINE_CODE,           /* the code of the frame below was followed to its return */
    OFFLINE_PROLOGUE,       /* or from the function's start */
    OFFLINE_EXIDX           /* by Arm's unwind tables */
};
const char *offline_how_name(enum offline_how how);

struct offline_frame {
    uint64_t pc;  /* where it goes on, or stands if it is `exact`: as in a register */
    vaddr_t addr; /* the same in the image, if it is_code */
    bool is_code;
    bool exact;
    enum offline_how how;
};
typedef ARRAY(struct offline_frame) offline_frames;

/*
 * Adds the frames to RET, the innermost first. *RET_END says why there are no more: tag "bottom" if
 * the last one was not called by anything, else "no-return" (it never returns and has kept no
 * return address), "cut" (memory would be needed that is not in the
 * pieces), "no-register" (a register that is not known), "no-code" (a return address that does not
 * lie in the image's code), "no-call" (nor behind a call), "no-cfi", "no-stack", "loop",
 * "bad-exception", "deep".
 */
void offline_unwind(const struct offline_program *program, const struct offline_registers *from,
                    offline_frames *ret, struct err *ret_end);

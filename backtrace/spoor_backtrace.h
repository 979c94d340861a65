/*
 * spoor_backtrace: who called whom, on Arm, from a Cortex-M0 to a 64-bit server.
 *
 * Freestanding C99: no C library, no allocation, no static data, and nothing is written but what
 * the caller gives. Compile spoor_backtrace.c into the program. The short way, from anywhere:
 *
 *     spoor_word sites[16];
 *     size_t count = spoor_backtrace(sites, 16);
 *
 * The long way says what is known of the program (struct spoor_image), where to begin (struct
 * spoor_regs) and asks for one frame after the other:
 *
 *     struct spoor_walk walk;
 *     struct spoor_frame frame;
 *     spoor_walk_begin(&walk, &image, &regs, SPOOR_INTERRUPTED);
 *     while (spoor_walk_next(&walk, &frame) == SPOOR_FRAME)
 *         print(frame.site);
 *
 * What a frame says has been proven as far as its `trust` tells; where nothing can be proven the
 * walk stops, with a reason: a wrong frame is worse than a missing one. Memory is read inside of
 * the bounds given here only, or through the callback: no stack, whatever is in it, makes the walk
 * fault, loop or leave its bounds. May be called in any context, in handlers of faults too; some
 * 800 bytes of stack, all that the short way takes included. On Cortex-M less than 4 KB of code:
 * only the walkers of SPOOR_WALKERS are compiled there, 6 (by return and by prologue) unless told.
 */
#ifndef SPOOR_BACKTRACE_H
#define SPOOR_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A machine word of the program that is walked. It has room for every kind in two cases: where
   SPOOR_ALL is defined, and on other processors than Arm (a host that looks at a copy of memory).
 */
#if defined(__arm__) && !defined(SPOOR_ALL)
typedef uint32_t spoor_word;
#define SPOOR_REGS 16
#else
typedef uint64_t spoor_word;
#define SPOOR_REGS 33
#endif

enum spoor_isa {
    SPOOR_ISA_ARM, /* A32 and T32: bit 0 of code addresses tells */
    SPOOR_ISA_M,   /* T32 of the M profile, with its exception frames */
    SPOOR_ISA_A64
};

/*
 * Registers of one frame. Arm: r0 to r15. A64: x0 to x30, then sp, then pc. pc has the Thumb bit.
 * Two kinds of stack pointers that are not in use (0: not known): the M profile's process stack
 * pointer; those of the other security state (secure code may read the non-secure ones).
 */
struct spoor_regs {
    spoor_word r[SPOOR_REGS];
    spoor_word known; /* bit n: r[n] is; of sp and pc of A64: always, or the walk ends */
    spoor_word psp, other_msp, other_psp;
};

enum { SPOOR_SP = 13, SPOOR_LR = 14, SPOOR_PC = 15, SPOOR_A64_SP = 31, SPOOR_A64_PC = 32 };

/* Ways to find a caller: all that `walkers` permits are tried, the safest first. The frame that was
   interrupted is read from its code in any case. */
enum {
    SPOOR_BY_TABLE = 1, /* .ARM.exidx */
    SPOOR_BY_RETURN =
        2, /* the code from here to a return is followed, with its effect on the stack */
    SPOOR_BY_PROLOGUE = 4, /* the code from the function's start */
    SPOOR_BY_CHAIN = 8,    /* frame pointer */
    SPOOR_BY_ALL = 15,
    SPOOR_BY_EXCEPTION = 16, /* hardware's own record; always permitted */
    SPOOR_BY_BEGIN = 32      /* of the first frame: what the registers say */
};

enum spoor_flags {
    /* All code keeps frame records, as -fno-omit-frame-pointer makes it: T32 at r7 (Clang's does,
       GCC's does not); A32 at r11, A64 at x29. Without, records count where the code proves them.
     */
    SPOOR_R7_CHAIN = 1,
    SPOOR_FP_CHAIN = 2,
    SPOOR_SECURE_FP_CALLEE = 4 /* FPCCR.TS: s16 to s31 are stacked, too */
};

struct spoor_stack {
    spoor_word low,
        high; /* first byte, and first behind; high 0: none. Low 0: the stack pointer. */
};

/* What is known of the program. */
struct spoor_image {
    spoor_word text_low, text_high;   /* code, and constants beside it (.ARM.extab) */
    spoor_word exidx_low, exidx_high; /* .ARM.exidx; equal: none */
    struct spoor_stack stacks[2];     /* on the M profile the main and the process stack */
    uint8_t isa;                      /* enum spoor_isa */
    uint8_t walkers;                  /* SPOOR_BY_... */
    uint8_t flags;                    /* enum spoor_flags */
    /* Copies memory; other than 0: cannot be read. NULL: memory is there, inside of the bounds
     * above. */
    int (*read)(void *arg, spoor_word from, void *to, size_t size);
    /* Start of the function that an address is in, as symbols tell, or 0. NULL: no symbols. On the
     * M profile asked only with SPOOR_BY_TABLE of SPOOR_WALKERS. */
    spoor_word (*start)(void *arg, spoor_word address);
    /* Whether it is gone back to though no call stands before it, as where the kernel has signal
     * handlers return to. NULL: no such is known. Not asked on the M profile. */
    int (*goes_back)(void *arg, spoor_word address);
    void *arg;
};

/*
 * How far to trust a frame. Two kinds are only SPOOR_CHECKED. One is found by a prologue of which
 * neither symbols nor a table tell that it is this function's: a function that never returns, saves
 * nothing, and stands right behind its caller cannot always be told from the caller. The other is
 * found by code behind a call that may never come back, where neither the caller's call nor a told
 * start confirms it. The short way tells of both kinds.
 */
enum spoor_trust {
    SPOOR_CHECKED, /* fits in all that can be seen: bounds, a call before the return address */
    SPOOR_PROVEN   /* follows from the code, a table or hardware */
};

struct spoor_frame {
    spoor_word site; /* where it stands: the interrupted instruction, or inside of the call */
    spoor_word pc; /* the interrupted instruction, or where the call returns; with the Thumb bit */
    spoor_word sp; /* 0: not known */
    uint8_t by;    /* SPOOR_BY_...: how it was found */
    uint8_t trust; /* enum spoor_trust */
    uint8_t interrupted;
};

enum spoor_result {
    SPOOR_FRAME,         /* there is one; all others end the walk */
    SPOOR_END,           /* the outermost frame was the last: nothing called it */
    SPOOR_NO_WAY,        /* no permitted walker finds a caller that it could prove */
    SPOOR_NO_STACK,      /* the stack pointer is outside of the stacks */
    SPOOR_NO_CODE,       /* pc is outside of the text */
    SPOOR_BAD_EXCEPTION, /* the record of an exception cannot be one */
    SPOOR_OTHER_STATE    /* it goes on in the other security state, which cannot be read here */
};

enum spoor_begin { SPOOR_INTERRUPTED, SPOOR_AT_CALL };

/* Private, but here so that it can be on the stack. */
struct spoor_walk {
    struct spoor_regs regs;
    const struct spoor_image *image;
    struct spoor_stack stack; /* in which the frame is */
    unsigned exact;           /* pc is where it stands, not behind a call */
    unsigned unsure;          /* of the code that is followed: it may not be reached from here */
    unsigned by, ended, thread_mode;
};

/* The walk begins with REGS: at an instruction, or behind a call that the pc returns from. A pc
   that is an EXC_RETURN: with what that exception interrupted. IMAGE must live as long as the walk.
 */
void spoor_walk_begin(struct spoor_walk *walk, const struct spoor_image *image,
                      const struct spoor_regs *regs, enum spoor_begin how);

/* The next frame, from the innermost on. Once it has ended it says so again. */
enum spoor_result spoor_walk_next(struct spoor_walk *walk, struct spoor_frame *ret_frame);

/* All of it: sites from REGS on, at most MOST; returns how many. The reason for the end, or
   SPOOR_FRAME if there would be more, is in ret_end. */
struct spoor_sites {
    spoor_word *site;
    size_t most;
};
size_t spoor_backtrace_from(const struct spoor_image *image, const struct spoor_regs *regs,
                            enum spoor_begin how, struct spoor_sites ret_sites,
                            enum spoor_result *ret_end);

/* In a word what a result means. In the program only if that calls it. */
static inline const char *spoor_result_name(enum spoor_result result) {
    static const char *const names[] = {"frame",   "end",           "no way",     "no stack",
                                        "no code", "bad exception", "other state"};
    return names[result <= SPOOR_OTHER_STATE ? result : SPOOR_NO_WAY];
}

#if (defined(__arm__) || defined(__aarch64__)) && !defined(SPOOR_ALL)
/* The registers that a function keeps for its caller, as they are when this call returns. */
void spoor_regs_here(struct spoor_regs *ret_regs);

/* What can be found of the running program: processor, tables, and of the M profile the top of the
   main stack. Text and stack are those of the linker's symbols where a linker script has them. */
void spoor_image_find(struct spoor_image *ret_image);

/* Where the callers of this function stand, the innermost first; at most MOST. Returns how many. */
size_t spoor_backtrace(spoor_word *ret_sites, size_t most);
#endif

#ifdef __cplusplus
}
#endif

#endif

/*
 * Signatures: what a function takes and returns, and where it finds its parameters at its first
 * instruction, as debugging information has it. Where that says nothing, the ABI does
 * (src/values).
 */
#pragma once

#include "types/types.h"

enum source_language { SOURCE_OTHER, SOURCE_C, SOURCE_CXX, SOURCE_RUST, SOURCE_GO, SOURCE_D };

enum place_kind {
    PLACE_BY_ABI,   /* where the ABI puts it: nothing else is known */
    PLACE_REGISTER, /* in `reg` */
    PLACE_FRAME,    /* in memory at CFA + offset */
    PLACE_CONSTANT, /* nowhere: it is always `constant` */
    PLACE_PIECES,   /* its bytes are in several places, one behind the other */
    PLACE_MISSING   /* optimised away at the entry, or in a place that has no name here */
};

enum { PLACE_MOST_PIECES = 16 };

struct place_piece {
    enum place_kind kind; /* PLACE_REGISTER, _FRAME, _CONSTANT or _MISSING */
    uint16_t reg;         /* by its number in DWARF */
    int64_t offset;
    uint64_t constant;
    uint32_t bytes;
};

struct place {
    enum place_kind kind;
    uint16_t reg; /* by its number in DWARF: vector registers, too (x86-64: xmm0 is 17) */
    int64_t offset;
    uint64_t constant;
    bool address; /* PLACE_REGISTER, _FRAME: that holds the parameter's address, not its value */
    /* PLACE_REGISTER: the description holds for the whole function, and some compilers mean "once
     * the prologue is over" by that. It counts only if `changed`, or if the ABI agrees. */
    bool whole;
    uint8_t piece_count; /* PLACE_PIECES */
    struct place_piece pieces[PLACE_MOST_PIECES];
};

/* Where a function that is not optimised keeps a parameter, as debugging information has it: from
 * some instruction on, not at the first one. Of LLVM's optimised code: where the caller may have
 * put it on the stack. Without `from`, `base` is then what it is behind the prologue. */
enum home_kind {
    HOME_NONE,
    HOME_REGISTER, /* in `base` */
    HOME_MEMORY,   /* in memory at `base` + offset */
    HOME_ADDRESS   /* its address is in memory at `base` + offset */
};
enum { HOME_CFA = -1 };
struct home {
    enum home_kind kind;
    int32_t base; /* a register by its number in DWARF, or HOME_CFA */
    int64_t offset;
    vaddr_t from; /* 0: from the end of the prologue on */
};

enum parameter_flag {
    PARAMETER_ARTIFICIAL = 1 << 0, /* not in the source: `this`, VTT, __in_chrg */
    PARAMETER_RESULT = 1 << 1      /* one of Go's results, which follow the parameters */
};

struct parameter {
    const char *name; /* "": it has none */
    type_id type;
    uint32_t flags; /* enum parameter_flag */
    struct place place;
    struct home home; /* only where `place` is PLACE_BY_ABI, or PLACE_MISSING in optimised code */
};

struct signature {
    const char *name; /* as in the source, without scope; "": none */
    type_id result;   /* 0: void */
    struct parameter *parameters;
    size_t count;
    enum source_language language;
    const char *producer; /* the compiler, as DW_AT_producer has it; "" */
    uint16_t machine;     /* EM_* */
    bool varargs;         /* more parameters may follow */
    bool prototyped;      /* false: f() of C, whose callers promote what they pass */
    bool optimized;       /* compiled with optimisation: some parameters have location lists */
    bool member;          /* a method: the first parameter is `this` */
    /* The compiler has changed what it takes (clones: .isra, .constprop, .part): the ABI does not
     * tell where anything is. No parameter has PLACE_BY_ABI. */
    bool changed;
    bool inlined;         /* it is an instance of a function that is inlined elsewhere, too */
    bool keeps_result;    /* if `changed`: the ABI still tells where its result is */
    bool lost_result;     /* if `changed`: it surely returns nothing any more */
    bool returns_address; /* it surely returns the address of a result in memory */
    bool has_places;      /* it is that of a function; else of a prototype: all is by ABI */
};
/* Frees what *S owns; names and types are the graph's. */
void signature_done(struct signature *s);

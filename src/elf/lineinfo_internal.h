/* What the files lineinfo*.c share. */
#pragma once

#include "base/mem.h"
#include "elf/lineinfo.h"

struct named { /* a symbol */
    vaddr_t addr;
    vaddr_t end;  /* addr: its size is not known */
    vaddr_t most; /* of all ends of symbols up to this one */
    const char *name;
    uint8_t rank; /* of names of one address: lower is better */
    bool thumb;
};

struct unit_range {
    vaddr_t start, end;
    Dwarf_Off unit; /* its DIE */
};

struct line_segment {
    struct span span; /* of addresses */
    const uint8_t *bytes;
    size_t size; /* of what the file has */
};

struct lineinfo {
    Dwfl *dwfl;
    Dwfl_Module *module;
    uint16_t machine;
    bool is_64bit;
    vaddr_t low;
    ARRAY(struct span) code; /* executable */
    ARRAY(struct line_segment) segments;
    ARRAY(struct named) symbols;    /* ascending; of one address the best first */
    ARRAY(struct unit_range) units; /* ascending */
    Dwarf *dwarf;                   /* NULL: none */
    bool is_cleansed;               /* lineinfo_cfi.c */
    struct span exidx;
    bool is_m_profile;
};

/* lineinfo_arm.c */
void lineinfo_read_arm(struct lineinfo *info, Elf *elf);

/* lineinfo_symbols.c */
void lineinfo_read_symbols(struct lineinfo *info);
/* The function that ADDR is in; NULL if none has a name. */
const struct named *lineinfo_symbol(const struct lineinfo *info, vaddr_t addr);

/* lineinfo_dwarf.c */
/* Whether what begins at START in debugging information was thrown away by the linker. */
bool lineinfo_is_discarded(const struct lineinfo *info, vaddr_t start);
void lineinfo_read_units(struct lineinfo *info);
/* The frames at ADDR as debugging information has them, none if it has nothing about ADDR. The
 * last is the function's own; *RET_START is where that begins. */
typedef ARRAY(struct line_frame) line_frames;
void lineinfo_dwarf_frames(const struct lineinfo *info, vaddr_t addr, line_frames *ret,
                           vaddr_t *ret_start);

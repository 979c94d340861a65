/* struct lineinfo, shared by the files lineinfo*.c. */
#pragma once

#include "base/mem.h"
#include "elf/lineinfo.h"

struct named { /* a symbol */
    vaddr_t addr;
    vaddr_t end;     /* equal to addr: its size is not known */
    vaddr_t max_end; /* of this and all symbols before */
    const char *name;
    uint8_t rank; /* among names of one address; lower is better */
    bool thumb;
};

struct unit_range {
    vaddr_t start, end;
    Dwarf_Off unit; /* its DIE */
};

struct line_segment {
    struct span span;
    const uint8_t *bytes;
    size_t size;     /* bytes in the file */
    uint64_t offset; /* in the file */
};

struct lineinfo {
    Dwfl *dwfl;
    Dwfl_Module *module;
    uint16_t machine;
    bool is_64bit;
    vaddr_t low;
    ARRAY(struct span) code; /* executable sections or segments */
    ARRAY(struct line_segment) segments;
    ARRAY(struct named) symbols;    /* ascending; the best of one address first */
    ARRAY(struct unit_range) units; /* ascending */
    Dwarf *dwarf;                   /* NULL: none */
    bool is_filtered;               /* discarded FDEs were removed (lineinfo_cfi.c) */
    struct span exidx;
    bool is_m_profile;
};

/* lineinfo_arm.c */
void lineinfo_read_arm(struct lineinfo *info, Elf *elf);

/* lineinfo_symbols.c */
void lineinfo_read_symbols(struct lineinfo *info);
/* The symbol of the function that holds ADDR; NULL: none. */
const struct named *lineinfo_symbol(const struct lineinfo *info, vaddr_t addr);

/* lineinfo_dwarf.c */
/* Whether the linker discarded the code that debugging information says begins at START. */
bool lineinfo_is_discarded(const struct lineinfo *info, vaddr_t start);
void lineinfo_read_units(struct lineinfo *info);
/* The innermost unit with code at ADDR: one unit's code may lie within another's. */
bool lineinfo_unit(const struct lineinfo *info, vaddr_t addr, Dwarf_Die *ret);
/* Whether it has this build ID. SIZE 0: any will do. */
bool lineinfo_has_id(const struct lineinfo *info, const uint8_t *id, size_t size);
struct line_cache { /* zeroed at first; for one lineinfo */
    Dwarf_Off unit;
    vaddr_t discarded_end; /* of that unit */
    bool known;
};
/* The line at ADDR. *RET_FILE lives as long as INFO. False: it is not known. */
bool lineinfo_dwarf_line(const struct lineinfo *info, vaddr_t addr, struct line_cache *cache,
                         const char **ret_file, unsigned *ret_line);
/* Appends the frames at ADDR by debugging information, none if that lacks ADDR. The last frame is
 * the function's own; *RET_START is the function's start. */
typedef ARRAY(struct line_frame) line_frames;
void lineinfo_dwarf_frames(const struct lineinfo *info, vaddr_t addr, line_frames *ret,
                           vaddr_t *ret_start);

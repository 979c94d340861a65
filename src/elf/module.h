/*
 * An ELF file for the planner and the views: bytes, sections, symbols, unwind ranges, and every
 * place in data that refers to code. Loading reads only the file and its separate debug file, no
 * process.
 *
 * All arrays are sorted by address. Strings and arrays live as long as the module. Addresses are
 * link-time (vaddr_t).
 */
#pragma once

#include "base/err.h"
#include "base/types.h"

struct segment { /* a PT_LOAD */
    vaddr_t start;
    uint64_t size;      /* in memory */
    uint64_t file_size; /* of bytes[]; the rest of the memory is zero */
    uint64_t offset;    /* in the file */
    const uint8_t *bytes;
    bool readable, writable, executable;
};

struct section { /* an allocated section; without section headers a part of a segment */
    vaddr_t start;
    uint64_t size;
    const char *name;
    const uint8_t *bytes; /* NULL for NOBITS */
    bool writable, executable;
    bool plt; /* .plt, .plt.sec, .plt.got, .iplt: the linker's stubs, never patched */
};

enum symbol_type { SYMBOL_NOTYPE, SYMBOL_FUNCTION, SYMBOL_IFUNC, SYMBOL_OBJECT };

struct symbol {   /* of several names of one address the best comes first */
    vaddr_t addr; /* of functions without the Thumb bit */
    uint64_t size;
    const char *name; /* as in the file (mangled, version suffix removed) */
    enum symbol_type type;
    bool global;
    bool hidden; /* seen in its own module only; the linker makes these local */
};

/* The canonical frame address from PC on: CFA = reg + offset. */
struct cfa_row {
    vaddr_t pc;
    int16_t reg; /* DWARF register number; CFA_EXPRESSION if the CFA is not reg + offset */
    int32_t offset;
};
enum { CFA_EXPRESSION = -1 };

struct unwind_range { /* one FDE */
    vaddr_t start, end;
    uint32_t first_row, row_count; /* into module.rows; the first row's pc is start */
    vaddr_t lsda;                  /* 0: none */
    bool signal_frame;             /* augmentation 'S' */
    bool outermost; /* its return address is undefined from the start on: nothing called it */
};

enum code_ref_kind {
    CODE_REF_RELOCATION, /* target of a RELATIVE, IRELATIVE, RELR or absolute relocation, or of
                            DT_INIT, DT_FINI */
    CODE_REF_DATA,       /* non-PIE: an aligned word of data that equals a text address */
    CODE_REF_LANDING_PAD /* from an LSDA call-site table */
};
struct code_ref { /* data refers to a place in executable memory */
    vaddr_t target;
    vaddr_t from; /* address of the reference; for landing pads the LSDA */
    enum code_ref_kind kind;
};

/* 32-bit Arm has two instruction sets, A32 and T32; a state of the processor selects one. Bit 0 of
 * pointers and symbols (Thumb bit) tells the state; addresses here are without this bit. */
enum code_state { CODE_A32, CODE_T32, CODE_DATA /* between code */ };
struct code_mark { /* the state of the code at ADDR; none for machines with one state */
    vaddr_t addr;
    uint8_t state; /* enum code_state */
    bool sure;     /* false: from a word that may be a number, or point to data */
};

/* An entry of .ARM.exidx. Linkers merge neighbours with equal unwind data, so a range may hold
 * several functions. */
struct exception_range {
    vaddr_t start, end;
    vaddr_t lsda;      /* 0: none */
    bool ends_unwound; /* EXIDX_CANTUNWIND: its callers are not unwound */
};

struct import { /* a word that the dynamic linker fills with the address of a named symbol */
    vaddr_t slot;
    const char *name;
};

struct patchable { /* an entry of __patchable_function_entries, after relocation; a hint: there need
                      not be nops */
    vaddr_t addr;
};

struct sled { /* an entry of xray_instr_map, after relocation; a hint as well */
    vaddr_t addr;
    uint8_t kind; /* XRaySledEntry.Kind */
};

/* How functions of 32-bit Arm pass floats, as the file's header tells: in general registers, or in
 * those of the VFP. */
enum float_abi { FLOAT_ABI_UNKNOWN, FLOAT_ABI_SOFT, FLOAT_ABI_HARD };

struct module {
    char *path;                /* as opened */
    const char *name;          /* file name without directory, points into path */
    uint16_t machine;          /* EM_* */
    uint8_t word_bytes;        /* of an address: 8 or 4 */
    bool position_independent; /* ET_DYN */
    bool text_relocations;     /* some relocations change code after mapping */
    enum float_abi float_abi;
    bool has_debug_file; /* some symbols come from a debug file or from .gnu_debugdata */
    uint8_t build_id[32];
    uint8_t build_id_size;       /* 0: none */
    vaddr_t entry;               /* e_entry */
    vaddr_t low, high;           /* span of all PT_LOADs */
    vaddr_t text_low, text_high; /* span of the executable ones */
    uint64_t text_bytes;         /* sum of executable segments' sizes */

    struct segment *segments;
    size_t segment_count;
    struct section *sections;
    size_t section_count;
    struct symbol *symbols;
    size_t symbol_count;
    struct unwind_range *ranges;
    size_t range_count;
    struct cfa_row *rows;
    size_t row_count;
    struct code_ref *refs;
    size_t ref_count;
    struct code_mark *marks;
    size_t mark_count;
    bool marks_complete; /* marks are the complete mapping symbols: each holds up to the next one */
    struct exception_range *exceptions;
    size_t exception_count;
    struct import *imports; /* by slot; from JUMP_SLOT and GLOB_DAT relocations */
    size_t import_count;
    struct patchable *patchables;
    size_t patchable_count;
    struct sled *sleds;
    size_t sled_count;

    struct module_private *priv;
};

enum {
    MODULE_DEBUG_FILES = 1, /* look for separate debug files: debuglink, build-id, .gnu_debugdata,
                               and debuginfod if DEBUGINFOD_URLS is set */
    MODULE_LATER = 2,       /* read all but segments, sections and the build ID when
                               module_complete() is called; see also files.h */
};

/*
 * Opens PATH and reads it. Errors (tags): "open" (with errno); ENOEXEC "not-elf", "truncated-elf",
 * "corrupt-elf", "elf-type" (an object or core file); ENOTSUP "elf-class" (32-bit, except Arm),
 * "elf-byte-order" (big-endian). Files for any machine load. Bytes are untrusted: every offset and
 * count is checked. Malformed parts (section headers, a symbol, an FDE) count as absent. Loading
 * fails only if the kernel could not load the file either.
 */
int module_load(const char *path, unsigned flags, struct module **ret, struct err *err);
/* The same for an open descriptor, which the caller keeps. NAME is for messages and views. */
int module_load_fd(int fd, const char *name, unsigned flags, struct module **ret, struct err *err);
/* The parts of a file that a process has in memory. */
struct loaded {
    uint8_t *bytes; /* from malloc(), at their offsets in the file; other bytes are 0 */
    size_t size;
    uint64_t bias; /* run-time minus link-time address */
};
/* The same for a file that cannot be opened any more. Takes LOADED's bytes over, on failure too.
 * The module has no section headers, and only dynamic symbols unless a debug file is found. */
int module_load_mapped(const struct loaded *loaded, const char *name, unsigned flags,
                       struct module **ret, struct err *err);
/* Reads what MODULE_LATER has left out. To be called before symbols, rows, references and the like
 * are used, unless flat_symbols_read() has read them. Later calls do nothing. */
void module_complete(const struct module *module);
void module_free(struct module *module);
/* The files' pages leave this process until they are touched again. To be called when little more
 * of them is needed for a while. */
void module_leave_files(const struct module *module);

/* Whether the module's bytes are the file's pages that all processes have. */
bool module_shares_pages(const struct module *module);
/* SIZE bytes of the file at ADDR; NULL if some are not in the file (zero-filled memory). */
const uint8_t *module_bytes(const struct module *module, vaddr_t addr, uint64_t size);
/* The same, in memory that the program cannot write. */
const uint8_t *module_constant(const struct module *module, vaddr_t addr, uint64_t size);
const struct segment *module_segment_at(const struct module *module, vaddr_t addr);
const struct section *module_section_at(const struct module *module, vaddr_t addr);
const struct unwind_range *module_range_at(const struct module *module, vaddr_t addr);
/* go.c: whether the module holds Go's code; and whether it does so without its functions' names. */
bool module_is_go(const struct module *module);
bool module_is_stripped_go(const struct module *module);
/* The row for ADDR within RANGE. */
const struct cfa_row *module_row_at(const struct module *module, const struct unwind_range *range,
                                    vaddr_t addr);
/* The name of the symbol whose address SLOT will hold; NULL: SLOT is no import. */
const char *module_import_at(const struct module *module, vaddr_t slot);
/* Undefined names of its dynamic symbol table, except data: sorted, each once. The caller frees the
 * array; the module owns the names. */
const char **module_undefined(const struct module *module, size_t *ret_count);
/* The names of the libraries that it needs. The caller frees the array; the module owns the names.
 */
const char **module_needed(const struct module *module, size_t *ret_count);
/* Finds a defined symbol by exact name; NULL if none. */
const struct symbol *module_symbol_named(const struct module *module, const char *name);

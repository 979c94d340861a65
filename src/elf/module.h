/*
 * An ELF file as the planner and the views need it: bytes, sections, symbols,
 * unwind ranges and every place in data that refers to code. Loading reads
 * the file (and its separate debug file) only; nothing here knows a process.
 *
 * All arrays are sorted by address; strings and arrays live as long as the
 * module. Addresses are link-time (vaddr_t).
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

struct section { /* an allocated section; from section headers, else made up from segments */
    vaddr_t start;
    uint64_t size;
    const char *name;
    const uint8_t *bytes; /* NULL for NOBITS */
    bool writable, executable;
    bool plt; /* .plt, .plt.sec, .plt.got, .iplt: linker-made stubs, never probed */
};

enum symbol_type { SYMBOL_NOTYPE, SYMBOL_FUNCTION, SYMBOL_IFUNC, SYMBOL_OBJECT };

struct symbol {   /* names of one address: the one to show comes first */
    vaddr_t addr; /* without the bit that tells its state, in functions */
    uint64_t size;
    const char *name; /* as in the file (mangled, version suffix removed) */
    enum symbol_type type;
    bool global;
};

/* How to find the canonical frame address: CFA = reg + offset, from PC on. */
struct cfa_row {
    vaddr_t pc;
    int16_t reg; /* DWARF register number; CFA_EXPRESSION when not reg + offset */
    int32_t offset;
};
enum { CFA_EXPRESSION = -1 };

struct unwind_range { /* one FDE */
    vaddr_t start, end;
    uint32_t first_row, row_count; /* into module.rows; the first row's pc is start */
    vaddr_t lsda;                  /* 0 when none */
    bool signal_frame;             /* augmentation 'S' */
};

enum code_ref_kind {
    CODE_REF_RELOCATION, /* addend of a RELATIVE, IRELATIVE, RELR or absolute relocation; also what
                            DT_INIT and DT_FINI name */
    CODE_REF_DATA,       /* non-PIE: an aligned word of data that equals a text address */
    CODE_REF_LANDING_PAD /* from an LSDA call-site table */
};
struct code_ref { /* a place in executable memory that data refers to */
    vaddr_t target;
    vaddr_t from; /* where the reference stands; the LSDA for landing pads */
    enum code_ref_kind kind;
};

/* A machine may have more than one instruction set, told apart by a state of the processor: 32-bit
 * Arm has A32 and T32. Addresses are without the bit that tells the state in words and symbols. */
enum code_state { CODE_A32, CODE_T32, CODE_DATA /* in the midst of code */ };
struct code_mark { /* what the file says of the code at ADDR; none for machines with one state */
    vaddr_t addr;
    uint8_t state; /* enum code_state */
    bool sure;     /* else a word that may be an address, or lead to data */
};

/* An entry of .ARM.exidx. Linkers merge neighbours that are unwound alike: there may be functions
 * in its middle. */
struct exception_range {
    vaddr_t start, end;
    vaddr_t lsda;      /* 0 when none */
    bool ends_unwound; /* nothing is unwound beyond it: EXIDX_CANTUNWIND */
};

struct import { /* a word that the dynamic linker fills with the address of a named symbol */
    vaddr_t slot;
    const char *name;
};

struct patchable { /* an entry of __patchable_function_entries, after relocation; only a hint: what
                      stands there need not be what it says */
    vaddr_t addr;
};

struct sled { /* an entry of xray_instr_map, after relocation; a hint as well */
    vaddr_t addr;
    uint8_t kind; /* as it stands there */
};

struct module {
    char *path;                /* as opened */
    const char *name;          /* file name without directory, points into path */
    uint16_t machine;          /* EM_* */
    uint8_t word_bytes;        /* of an address: 8 or 4 */
    bool position_independent; /* ET_DYN */
    bool text_relocations;     /* some lead into code, which changes after mapping */
    bool has_debug_file;       /* some symbols come from a debug file or from .gnu_debugdata */
    uint8_t build_id[32];
    uint8_t build_id_size;       /* 0 when none */
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
    bool marks_hold; /* each mark holds up to the next one: they are all there, mapping symbols */
    struct exception_range *exceptions;
    size_t exception_count;
    struct import *imports; /* by slot: JUMP_SLOT and GLOB_DAT relocations */
    size_t import_count;
    struct patchable *patchables;
    size_t patchable_count;
    struct sled *sleds;
    size_t sled_count;

    struct module_private *priv;
};

enum {
    MODULE_DEBUG_FILES = 1, /* look for separate debug files: debuglink, build-id, .gnu_debugdata,
                               and debuginfod where DEBUGINFOD_URLS is set */
};

/*
 * Opens PATH and reads it. Errors (tags): "open" (with errno); ENOEXEC "not-elf", "truncated-elf",
 * "corrupt-elf", "elf-type" (an object or core file); ENOTSUP "elf-class" (32-bit, but for Arm's),
 * "elf-byte-order" (big-endian). "foreign-machine" is NOT raised here: any machine loads.
 * Bytes are untrusted: every offset and count in the file is checked. Parts that make no sense
 * (section headers, one symbol, one FDE) count as absent; the file fails only where the kernel
 * could not load it either.
 */
int module_load(const char *path, unsigned flags, struct module **ret, struct err *err);
/* The same for an open descriptor (kept by the caller); NAME is what messages and views call it. */
int module_load_fd(int fd, const char *name, unsigned flags, struct module **ret, struct err *err);
/* What a process has in memory of a file. */
struct loaded {
    uint8_t *bytes; /* from malloc(), at their offsets in the file; what is not loaded is 0 */
    size_t size;
    uint64_t bias; /* where it is loaded, minus where it was linked to */
};
/* The same for a file that nobody can open any more. LOADED's bytes are taken over, on
 * failure too. There are no section headers then, and only dynamic symbols, unless a debug file is
 * found. */
int module_load_mapped(const struct loaded *loaded, const char *name, unsigned flags,
                       struct module **ret, struct err *err);
void module_free(struct module *module);

/* SIZE bytes at ADDR as the file holds them (zero-filled memory is not served); NULL if not there.
 */
const uint8_t *module_bytes(const struct module *module, vaddr_t addr, uint64_t size);
/* The same, of memory that the program cannot write. */
const uint8_t *module_constant(const struct module *module, vaddr_t addr, uint64_t size);
const struct segment *module_segment_at(const struct module *module, vaddr_t addr);
const struct section *module_section_at(const struct module *module, vaddr_t addr);
const struct unwind_range *module_range_at(const struct module *module, vaddr_t addr);
/* go.c: does it hold Go's code, and without the names of Go's functions? */
bool module_is_go(const struct module *module);
bool module_is_nameless_go(const struct module *module);
/* The row that holds at ADDR within RANGE. */
const struct cfa_row *module_row_at(const struct module *module, const struct unwind_range *range,
                                    vaddr_t addr);
/* The name of the symbol whose address SLOT will hold; NULL if it is no import. */
const char *module_import_at(const struct module *module, vaddr_t slot);
/* The names, data apart, that its dynamic symbol table leaves to other modules to define: sorted,
 * each once. To be freed; the names are the module's. */
const char **module_undefined(const struct module *module, size_t *ret_count);
/* Finds a defined symbol by exact name; NULL if none. */
const struct symbol *module_symbol_named(const struct module *module, const char *name);

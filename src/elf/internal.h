/*
 * The loader's steps, in the order of module_load(). Each step fills its part of struct module.
 * Steps that return nothing treat malformed bytes as absent.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "elf/files.h"
#include "elf/image.h"
#include "elf/module.h"

struct table { /* SIZE bytes at ADDR of memory */
    vaddr_t addr;
    uint64_t size;
};

struct dynamic { /* PT_DYNAMIC; all 0 if there is none */
    bool present;
    bool text_relocations;
    vaddr_t symbols;
    struct table strings;
    vaddr_t hash, gnu_hash, got;
    struct table rela, rel, relr, plt;
    bool plt_has_addends;        /* `plt` holds Rela, else Rel */
    vaddr_t init_fini[2];        /* addresses of the words of DT_INIT and DT_FINI; 0: none */
    struct table init_arrays[3]; /* DT_PREINIT_ARRAY, DT_INIT_ARRAY, DT_FINI_ARRAY */
};

typedef ARRAY(struct code_mark) code_marks;
typedef ARRAY(struct code_ref) code_refs;

struct module_private {
    struct image file;
    struct image debug; /* the separate debug file; empty: none */
    struct {            /* of `file` and `debug`, with MODULE_LATER */
        int fd;         /* 0: none */
        struct file_id id;
        bool trusted; /* only root, the user and his group can change it */
    } kept[MODULE_FILES];
    bool later;     /* MODULE_LATER */
    bool packed;    /* `debug` is to be unpacked from .gnu_debugdata */
    bool unsettled; /* `debug` was found in module_complete() only */
    struct dynamic dynamic;
    struct arena *names; /* symbol names that had to be rewritten */
    code_marks mapping;  /* mapping symbols, until marks_finish() */
    code_marks hints;    /* other marks, until marks_finish() */
    code_refs found;     /* references, until refs_finish() */
    pthread_mutex_t complete_lock;
    atomic_bool complete; /* module_complete() was called */
    uint8_t *flat; /* memory of symbols, names and index that were read in flat form; or NULL */
    size_t flat_size;
    struct strings flat_names;
    pthread_mutex_t index_lock;
    uint32_t *index; /* hash table of symbols by name, built at first use (lookup.c) */
    size_t index_size;
};

/* module.c: makes a module of IMAGE and empties IMAGE, on failure too. Errors: as module_load(). */
int module_from_image(struct image *image, const char *name, unsigned flags, struct module **ret,
                      struct err *err);

/* sort_by_address() and the binary searches of lookup.c rely on this. */
_Static_assert(offsetof(struct segment, start) == 0 && offsetof(struct section, start) == 0 &&
                   offsetof(struct symbol, addr) == 0 && offsetof(struct cfa_row, pc) == 0 &&
                   offsetof(struct unwind_range, start) == 0 &&
                   offsetof(struct code_ref, target) == 0 &&
                   offsetof(struct code_mark, addr) == 0 &&
                   offsetof(struct exception_range, start) == 0 &&
                   offsetof(struct patchable, addr) == 0 && offsetof(struct sled, addr) == 0 &&
                   offsetof(struct import, slot) == 0,
               "records start with their address");

/* layout.c. Errors: "corrupt-elf", "truncated-elf". */
int layout_read_segments(struct module *module, struct err *err);
void layout_read_sections(struct module *module);
/* From note sections or PT_NOTE. Returns its size; 0: there is none. */
size_t layout_build_id(const struct image *image, uint8_t ret[static 32]);

/* dynamic.c */
void dynamic_read(struct module *module);

/* debugfile.c: finds and opens priv->debug; the second, if it is in the file itself. */
void debugfile_find(struct module *module);
void debugfile_unpack(struct module *module);

/* files.c: with MODULE_LATER, notes that FD, which the caller keeps, is the file WHICH. */
void files_keep(struct module *module, enum module_file which, int fd);

/* symbols.c: notes their states, and fills module->symbols unless the module has them already. */
void symbols_read(struct module *module);
/* Number of entries of the dynamic symbol table, all of them inside the file. */
size_t symbols_dynamic_count(const struct module *module);
/* An upper limit of that number: entries that fit between the table's start and the file's end. */
size_t symbols_dynamic_max(const struct module *module);

/* cfi.c */
void cfi_read(struct module *module);

/* exidx.c: fills module->exceptions. */
void exidx_read(struct module *module);

/* mapping_symbols.c: the states of code (enum code_state), for machines that have states. */
/* Notes the state that VALUE, a pointer to code, tells. Returns the address without Thumb bit. */
vaddr_t marks_note(struct module *module, vaddr_t value, bool sure);
/* Notes a mapping symbol. */
void marks_note_mapping(struct module *module, vaddr_t addr, const char *name);
/* Fills module->marks. */
void marks_finish(struct module *module);

/* refs.c: notes imports, patchables, sleds and references; the second, with landing pads, fills
 * module->refs. The first needs no other part of the file. */
void refs_read(struct module *module);
void refs_finish(struct module *module);

/* plt_stubs.c: finds the sections `plt` of a file without section headers. */
void plt_stubs_find(struct module *module);

/*
 * patchable.c: the words of all sections __patchable_function_entries. They may be zero in the file
 * (lld leaves them to relocations), so relocations are applied to them.
 */
struct patchable_word {
    vaddr_t at, value;
};
struct patchable_words {
    ARRAY(struct patchable_word) list; /* by address */
};
void patchable_read(const struct module *module, struct patchable_words *ret);
/* Sets the word at AT, if it is one of WORDS, to VALUE. */
void patchable_relocate(struct patchable_words *words, vaddr_t at, vaddr_t value);
/* Fills module->patchables with the addresses of code, each once, and empties WORDS. */
void patchable_write(struct module *module, struct patchable_words *words);

/* sleds.c: the same for the addresses in xray_instr_map and module->sleds. */
void sleds_read(const struct module *module, struct patchable_words *ret);
void sleds_write(struct module *module, struct patchable_words *words);

/* lsda.c: adds the landing pads of each range and exception range that has an LSDA. */
void lsda_read_all(const struct module *module, code_refs *refs);

/* lookup.c */
/* The hash table of symbols by name. It is made at the first call; the module owns it. */
const uint32_t *lookup_index(const struct module *module, size_t *ret_size);
bool module_is_text(const struct module *module, vaddr_t addr);
/* The file's bytes from ADDR to the end of its segment; NULL and 0 if ADDR is not in the file. */
const uint8_t *module_bytes_from(const struct module *module, vaddr_t addr, uint64_t *ret_size);

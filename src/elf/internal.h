/*
 * What the files of this folder share: the loader's steps, in the order in which module_load()
 * takes them. Each step fills its part of struct module and leaves the rest alone; steps that
 * return nothing treat bytes that make no sense as absent.
 */
#pragma once

#include <pthread.h>

#include "base/mem.h"
#include "elf/image.h"
#include "elf/module.h"

struct table { /* SIZE bytes at ADDR of memory */
    vaddr_t addr;
    uint64_t size;
};

struct dynamic { /* PT_DYNAMIC; all 0 when there is none */
    bool present;
    bool text_relocations;
    vaddr_t symbols;
    struct table strings;
    vaddr_t hash, gnu_hash, got;
    struct table rela, rel, relr, plt;
    bool plt_has_addends;   /* `plt` holds Rela, else Rel */
    vaddr_t calls[2];       /* words with addresses of what is called at start and end; 0: none */
    struct table called[3]; /* arrays of such words */
};

typedef ARRAY(struct code_mark) code_marks;

struct module_private {
    struct image file;
    struct image debug; /* empty when there is no separate debug file */
    struct dynamic dynamic;
    struct arena *names; /* symbol names that had to be rewritten */
    code_marks mapping;  /* mapping symbols, and what else tells states: until marks_settle() */
    code_marks points;
    pthread_mutex_t index_lock;
    uint32_t *index; /* of symbols by name, built at first use: see lookup.c */
    size_t index_size;
};

typedef ARRAY(struct code_ref) code_refs;

/* module.c: loads what IMAGE holds and empties it, on failure too. Errors as module_load()'s. */
int module_from_image(struct image *image, const char *name, unsigned flags, struct module **ret,
                      struct err *err);

/* What sort_by_address() and the binary searches of lookup.c rest on. */
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
/* From PT_NOTE or note sections; returns its size, 0 when there is none. */
size_t layout_build_id(const struct image *image, uint8_t ret[static 32]);

/* dynamic.c */
void dynamic_read(struct module *module);

/* debugfile.c: finds and opens priv->debug. */
void debugfile_find(struct module *module);

/* symbols.c */
void symbols_read(struct module *module);
/* Number of entries of the dynamic symbol table, all of them inside the file. */
size_t symbols_dynamic_count(const struct module *module);
/* How many have room where they are: no more are there. */
size_t symbols_dynamic_room(const struct module *module);

/* cfi.c */
void cfi_read(struct module *module);

/* exidx.c: fills module->exceptions. */
void exidx_read(struct module *module);

/* mapping_symbols.c: what tells in which state code runs, for machines that have states. */
/* A word or symbol that leads to code: notes its state. Returns the address alone. */
vaddr_t marks_note(struct module *module, vaddr_t value, bool sure);
/* A mapping symbol. */
void marks_note_mapping(struct module *module, vaddr_t addr, const char *name);
/* Fills module->marks. */
void marks_settle(struct module *module);

/* refs.c */
void refs_read(struct module *module);

/* stubs.c: the sections `plt` of a file without section headers. */
void stubs_find(struct module *module);

/*
 * patchable.c: the words of all sections __patchable_function_entries. As the file holds them they
 * may be zero (lld leaves them to relocations); what they are in memory decides.
 */
struct patchable_word {
    vaddr_t at, value;
};
struct patchable_words {
    ARRAY(struct patchable_word) list; /* by address */
};
void patchable_read(const struct module *module, struct patchable_words *ret);
/* The word at AT, if it is one of them, has VALUE once the module is loaded. */
void patchable_relocate(struct patchable_words *words, vaddr_t at, vaddr_t value);
/* Fills module->patchables with those that lead to code, each once, and empties WORDS. */
void patchable_write(struct module *module, struct patchable_words *words);

/* sleds.c: likewise the addresses in xray_instr_map, for module->sleds. */
void sleds_read(const struct module *module, struct patchable_words *ret);
void sleds_write(struct module *module, struct patchable_words *words);

/* lsda.c: adds the landing pads of each range and exception range that has an LSDA. */
void lsda_read_all(const struct module *module, code_refs *refs);

/* lookup.c */
bool module_is_text(const struct module *module, vaddr_t addr);
/* Bytes from ADDR to the end of what the file has of its segment; NULL and 0 when not there. */
const uint8_t *module_bytes_from(const struct module *module, vaddr_t addr, uint64_t *ret_size);

/* What the files of the DWARF reader share. */
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "base/mem.h"
#include "elf/image.h"
#include "types/debug_types.h"

#ifndef DW_LANG_C17
#define DW_LANG_C17 0x2c
#endif
#ifndef DW_LANG_C_plus_plus_17
#define DW_LANG_C_plus_plus_17 0x2b
#endif
#ifndef DW_LANG_C_plus_plus_20
#define DW_LANG_C_plus_plus_20 0x2f
#endif

enum {
    DWARF_DEEPEST = 48,          /* of nested entries */
    DWARF_MOST_MEMBERS = 1 << 16 /* of one struct, enum or signature */
};

struct span_unit {
    vaddr_t start, end;
    Dwarf_Off unit;
};

struct dwarf_function { /* an entry that describes code */
    vaddr_t low_pc;
    Dwarf_Die die;
};

struct dwarf_scope { /* a namespace or class: its entry is at `start`, those within it before `end`
                      */
    const uint8_t *start, *end;
    size_t parent; /* index of the scope around it; NO_SCOPE */
};
#define NO_SCOPE SIZE_MAX

struct dwarf_unit { /* one that was looked into */
    Dwarf_CU *cu;
    bool deep;                              /* functions within functions were looked for, too */
    bool judged, plain;                     /* dwarf_unit_is_plain() was asked; its answer */
    ARRAY(struct dwarf_function) functions; /* by low_pc */
    bool has_scopes;
    ARRAY(struct dwarf_scope) scopes; /* by start */
};

struct dwarf_entry { /* a type that got a number */
    Dwarf_Die die;
    type_id id;
    uint8_t language; /* enum source_language: of the unit that first referred to it */
};

struct dwarf_defining {  /* a unit that defines types */
    uint64_t position;   /* of its first definition; positions are in the order of the file */
    const uint8_t *addr; /* of that one's entry; those behind it have positions behind it */
    Dwarf_CU *cu;
};

struct dwarf_file {
    struct image image;    /* empty: that of the module */
    uint8_t *unpacked;     /* another form of it, from malloc(); NULL: none */
    const uint8_t *mapped; /* its bytes, if they are unchanged pages of a file; else NULL */
    size_t mapped_size;
    Elf *elf;
    Dwarf *dwarf;
};

struct debug_types {
    const struct module *module;
    struct types *graph;
    struct type_source source;
    char *path;                    /* of the separate debug file; NULL: none */
    enum source_language language; /* of the first unit that says one; partial units do not */
    struct dwarf_file file, alt;   /* `alt`: the supplementary one; empty: none */
    ARRAY(struct span_unit) spans; /* code of units, by start */
    ARRAY(struct dwarf_unit *) units;
    struct dwarf_unit *last_unit;      /* the one that was asked for last */
    ARRAY(struct dwarf_entry) entries; /* a type's handle is its index here */
    uint32_t *by_die; /* hash table: 1 + index of an entry, by address of the DIE */
    size_t by_die_room;
    size_t reads;       /* of types */
    size_t scope_count; /* of all units */
    bool has_definitions;
    /* A word for each, since there may be millions: the hash of its own name, then its position. */
    ARRAY(uint64_t) definitions;
    ARRAY(struct dwarf_defining) defining; /* by position */
    uint64_t next_position;
};

/* ---- dwarf_file.c ---- */
/* Lets go of the pages of a file that were looked at, so that it may be larger than memory. */
void dwarf_let_go(const struct dwarf_file *f);

/* ---- dwarf_units.c ---- */
/* Fills d->spans. */
void dwarf_read_spans(struct debug_types *d);
/* What is known of the unit of DIE. */
struct dwarf_unit *dwarf_unit_of(struct debug_types *d, const Dwarf_Die *die);
/* The entry of the function that begins at LOW_PC. */
bool dwarf_find_function(struct debug_types *d, vaddr_t low_pc, Dwarf_Die *ret);
/* FALLBACK, if the unit of DIE does not say. */
enum source_language dwarf_language_of(const Dwarf_Die *die, enum source_language fallback);
/* The first unit's entry, with a skeleton's split unit in its place. */
bool dwarf_whole_unit(Dwarf_Die *unit, Dwarf_Die *ret);

/* ---- dwarf_names.c ---- */
/* The name of a type with its scope, in the spelling of src/base. "" if it has none. To be freed.
 */
char *dwarf_full_name(struct debug_types *d, Dwarf_Die *die, enum source_language language);
/* The name that DIE itself has; "" if it has none. */
const char *dwarf_own_name(Dwarf_Die *die);
/* Whether names of entries within have its name before theirs. */
bool dwarf_is_scope(int tag);

/* ---- dwarf_definitions.c ---- */
/* A definition of a type with that full name and the kind of TAG (0: any). */
type_id dwarf_define(struct debug_types *d, const char *name, int tag);

/* ---- dwarf_types.c ---- */
/* The number of the type DIE, and of the one that an attribute of DIE refers to (0: none). */
type_id dwarf_type_id(struct debug_types *d, Dwarf_Die *die, enum source_language language);
type_id dwarf_type_at(struct debug_types *d, Dwarf_Die *die, unsigned attribute,
                      enum source_language language);
/* `read` of the graph's source; CTX is a struct debug_types. */
bool dwarf_read_type(void *ctx, uint64_t handle, struct type *ret, void **ret_free);
type_id dwarf_define_forward(void *ctx, uint64_t handle, const char *name);
/* Attributes: false or 0 if there is no such number. dwarf_number() reads constants of any form;
 * signed ones as two's complement. A flag is one of DIE itself; others may be of its abstract
 * origin or declaration. */
bool dwarf_number(Dwarf_Die *die, unsigned attribute, uint64_t *ret);
uint64_t dwarf_number_or_0(Dwarf_Die *die, unsigned attribute);
bool dwarf_flag(Dwarf_Die *die, unsigned attribute);
const char *dwarf_string_at(Dwarf_Die *die, unsigned attribute); /* NULL: none */

/* ---- dwarf_struct.c ---- */
bool dwarf_read_struct(struct debug_types *d, Dwarf_Die *die, enum source_language language,
                       struct type *ret, void **ret_free);

/* ---- dwarf_place.c ---- */
/* Where PARAMETER of FUNCTION is at LOW_PC. */
struct place dwarf_place_of(struct debug_types *d, Dwarf_Die *function, Dwarf_Die *parameter,
                            vaddr_t low_pc, bool changed);
/* LOCATION is a list with ranges of addresses. */
bool dwarf_is_list(Dwarf_Attribute *location);
/* OP is DW_OP_reg* or DW_OP_regx; DW_OP_breg* or DW_OP_bregx. */
bool dwarf_is_register(const Dwarf_Op *op, unsigned *ret_reg);
bool dwarf_is_based(const Dwarf_Op *op, unsigned *ret_reg, int64_t *ret_offset);

/* ---- dwarf_plain.c ---- */
/* True if the unit of FUNCTION, which dwarf_find_function() has found, is surely not optimised. */
bool dwarf_unit_is_plain(struct debug_types *d, const Dwarf_Die *function);

/* ---- dwarf_home.c ---- */
/* Where FUNCTION, which is not optimised, keeps PARAMETER. */
struct home dwarf_home_of(Dwarf_Die *function, Dwarf_Die *parameter, vaddr_t low_pc);

/* Reads and writes CTF, version 3, the types of C in compact form (ctf_format.h). */
#pragma once

#include "base/err.h"
#include "base/mem.h"
#include "types/types.h"

/* What a file says of a name: a function's type (TYPE_FUNCTION), or that of a variable. */
struct type_symbol {
    const char *name;
    type_id type;
    bool function;
};

/* The types of a file. */
struct type_set {
    struct types *graph;
    ARRAY(type_id) all; /* in the file's order */
    ARRAY(struct type_symbol) symbols;
};
/* Frees all but the graph. */
void type_set_done(struct type_set *set);

/* What the file tells besides the section. */
struct ctf_file {
    const uint8_t *bytes; /* of the section, or of a file of its own; aligned to 8 */
    size_t size;
    const char *strings; /* .strtab, or .dynstr, of the ELF file; NULL: none */
    size_t string_bytes;
    const char *dynamic_strings;
    size_t dynamic_string_bytes;
    uint8_t pointer_bytes; /* 0: not known, 8 is taken */
};

/* Dictionaries that GRAPH reads its types from. */
struct ctf_reader;

bool ctf_is(const uint8_t *bytes, size_t size);
/*
 * Adds the types of FILE, whose memory must live as long as the reader, to SET. Types are read when
 * they are asked for. The reader must outlive the graph's questions. NULL: ERR says why ("not-ctf",
 * "ctf-version", "ctf-corrupt").
 */
struct ctf_reader *ctf_read(const struct ctf_file *file, struct type_set *set, struct err *err);
void ctf_reader_free(struct ctf_reader *reader);

/*
 * A dictionary that is being made. Types that CTF has no form for become unknown or opaque: vectors
 * of SIMD, decimal floats, members of C++ that are not fixed. It keeps only what it will write, so
 * that GRAPH may forget types meanwhile.
 */
struct ctf_dictionary;
/* Between types, FORGET may let GRAPH forget all of them, and then returns true. The COUNT types of
 * KEPT must get new numbers then. FORGET may be NULL. */
struct ctf_dictionary *ctf_dictionary_new(struct types *graph,
                                          bool (*forget)(void *ctx, type_id *kept, size_t count),
                                          void *ctx);
void ctf_dictionary_free(struct ctf_dictionary *d);
/* Adds ID with all that it needs, unless it has an equal type. */
void ctf_dictionary_add(struct ctf_dictionary *d, type_id id);
/* Of functions, or of variables, with one name the first counts. */
void ctf_dictionary_name(struct ctf_dictionary *d, const struct type_symbol *symbol);
/* Once, at the end. UNIT names the file that was compiled, "" if there are several. PUT gets the
 * bytes in their order. -EFBIG "ctf-large": more than the format's numbers hold. */
int ctf_dictionary_write(struct ctf_dictionary *d, const char *unit,
                         void (*put)(void *ctx, const void *bytes, size_t size), void *ctx,
                         struct err *err);

/* Writes all of SET as one dictionary. *RET, from malloc(), has *RET_SIZE bytes. */
int ctf_write(const struct type_set *set, const char *unit, uint8_t **ret, size_t *ret_size,
              struct err *err);

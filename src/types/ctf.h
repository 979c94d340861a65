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
struct type_symbols {
    ARRAY(struct type_symbol) list;
};

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
 * Reads FILE, whose memory must live as long as the reader, into GRAPH: ALL gets the numbers of its
 * types, in their order, and SYMBOLS (may be NULL) its functions and variables. Types are read when
 * they are asked for. The reader must outlive GRAPH's questions. NULL: ERR says why ("not-ctf",
 * "ctf-version", "ctf-corrupt").
 */
struct ctf_reader *ctf_read(struct types *graph, const struct ctf_file *file, type_id **ret_all,
                            size_t *ret_count, struct type_symbols *symbols, struct err *err);
void ctf_reader_free(struct ctf_reader *reader);

/*
 * Writes GRAPH's types ALL and all that they need, and SYMBOLS, as one dictionary. *RET, from
 * malloc(), has *RET_SIZE bytes. UNIT names the file that was compiled, "" if there are several.
 * Types that CTF has no form for become unknown or opaque: vectors of SIMD, decimal floats, members
 * of C++ that are not fixed. -EFBIG "ctf-large": more than the format's numbers hold.
 */
int ctf_write(struct types *graph, const type_id *all, size_t count,
              const struct type_symbols *symbols, const char *unit, uint8_t **ret, size_t *ret_size,
              struct err *err);

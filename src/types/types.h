/*
 * A graph of the types of a program, whatever debugging information they come from: readers fill
 * it (DWARF, CTF, BTF, the trace). Types are numbered; 0 is void, or a type that is not known.
 *
 * A graph may be lazy: a reader gives a number to a type that it meets, and reads the type when it
 * is asked for. So cycles cost nothing, and only types that are used are read. Types never change
 * once they were given out; pointers to them, their members and names live as long as the graph.
 *
 * One thread at a time uses a graph. Readers promise, whatever the file claims: references lead to
 * types of the graph, names are not NULL.
 */
#pragma once

#include "base/types.h"

typedef uint32_t type_id;

/* The numbers of the trace's format. */
enum type_kind {
    TYPE_UNKNOWN = 0, /* void, or not known */
    TYPE_INTEGER = 1,
    TYPE_FLOAT,
    TYPE_POINTER,   /* to `of` */
    TYPE_ARRAY,     /* `elements` of `of` */
    TYPE_STRUCT,    /* `members`; also classes, and variants (TYPE_VARIANTS) */
    TYPE_UNION,     /* `members` */
    TYPE_ENUM,      /* `values`; `of` is the integer below, or 0 */
    TYPE_TYPEDEF,   /* `name` for `of` */
    TYPE_QUALIFIER, /* of `of`: TYPE_CONST … */
    TYPE_FUNCTION,  /* `members` are its parameters, `of` is its result */
    TYPE_FORWARD,   /* a struct, union or enum that is only declared: types_definition() */
    TYPE_STRING     /* of BASIC, Fortran: `bytes` characters */
};

enum type_flag {
    TYPE_SIGNED = 1 << 0,         /* integers, enums, and bit fields of them */
    TYPE_BOOLEAN = 1 << 1,        /* integers */
    TYPE_CHARACTER = 1 << 2,      /* integers: char, wchar_t, char16_t, Rust's char; not int8_t */
    TYPE_REFERENCE = 1 << 3,      /* pointers that the source writes as references */
    TYPE_RVALUE = 1 << 4,         /* references: && */
    TYPE_MEMBER_POINTER = 1 << 5, /* pointers of C++ to a member; no addresses. `bytes` is 8 for
                                     data (an offset), two words for functions */
    TYPE_CONST = 1 << 6,          /* qualifiers */
    TYPE_VOLATILE = 1 << 7,
    TYPE_RESTRICT = 1 << 8,
    TYPE_ATOMIC = 1 << 9,
    TYPE_COMPLEX = 1 << 10, /* floats, integers: two numbers of half the bytes */
    TYPE_DECIMAL = 1 << 11, /* floats: base 10 */
    TYPE_VECTOR = 1 << 12,  /* arrays: a vector of SIMD */
    TYPE_VARARGS = 1 << 13, /* functions: … */
    TYPE_CLASS = 1 << 14,   /* structs that the source calls class */
    /* Structs and unions of C++ that are passed and returned by reference, because copying them
     * takes code. */
    TYPE_BY_REFERENCE = 1 << 15,
    TYPE_VARIANTS = 1 << 16,   /* structs: an enum of Rust, see MEMBER_DISCRIMINANT */
    TYPE_ENUM_CLASS = 1 << 17, /* enums of C++ whose values have their scope */
    TYPE_OPEN = 1 << 18,       /* arrays: the number of elements is not known; `elements` is 0 */
    TYPE_TAG = 1 << 19,        /* C's struct, union, enum, forward: spelled with that word */
    TYPE_OF_UNION = 1 << 20,   /* forwards: of a union; of an enum; else of a struct */
    TYPE_OF_ENUM = 1 << 21
};

enum type_member_flag {
    MEMBER_BASE = 1 << 0,       /* a base class; its name is that of the class */
    MEMBER_ARTIFICIAL = 1 << 1, /* not in the source: a pointer to virtual functions, `this` */
    /* A struct with TYPE_VARIANTS has one member that tells the variant, and one for each variant,
     * all of which may share bytes. A variant is there if the discriminant has its `value`; one
     * with MEMBER_DEFAULT is if no other is. Without a discriminant, there is one variant. */
    MEMBER_DISCRIMINANT = 1 << 2,
    MEMBER_VARIANT = 1 << 3,
    MEMBER_DEFAULT = 1 << 4,
    MEMBER_VIRTUAL = 1 << 5 /* a virtual base class; its place is not fixed: bit_offset is 0 */
};

struct type_member {  /* of structs and unions; also a parameter of function types */
    const char *name; /* "": it has none, as anonymous structs and unions within others */
    type_id type;
    uint64_t bit_offset; /* from the struct's begin; on little-endian machines the lowest bit */
    uint32_t bit_size;   /* 0: the whole type; else a bit field */
    uint32_t flags;
    int64_t value; /* MEMBER_VARIANT: of the discriminant */
};

struct type_value { /* of enums */
    const char *name;
    int64_t value; /* UINT64_MAX is −1 without TYPE_SIGNED */
};

struct type {
    enum type_kind kind;
    uint32_t flags;
    const char *name; /* "": none. With scope, as in `std::vector<int>`; without `struct` */
    uint64_t bytes;   /* of an object. 0: unknown, or none. Of typedefs, qualifiers: see
                         types_bytes() */
    type_id of;
    uint64_t elements; /* of arrays; those of several dimensions are arrays of arrays */
    uint32_t count;    /* of members or values */
    const struct type_member *members;
    const struct type_value *values;
};

struct types;
struct types *types_new(void);
void types_free(struct types *graph);

/* The type of ID; that of 0 (TYPE_UNKNOWN, named "void") for any other number. */
const struct type *types_get(struct types *graph, type_id id);
/* The numbers of types are below it. */
type_id types_count(const struct types *graph);
/* ID without typedefs and qualifiers. */
type_id types_plain(struct types *graph, type_id id);
/* The same, as types_get(). */
const struct type *types_get_plain(struct types *graph, type_id id);
/* The bytes of an object, also of typedefs and arrays; 0: unknown. */
uint64_t types_bytes(struct types *graph, type_id id);
/* The definition of a TYPE_FORWARD, if there is one in the debugging information of its file; ID of
 * others, and if there is none. Through typedefs and qualifiers. The first question for each file
 * may take seconds. */
type_id types_definition(struct types *graph, type_id id);
/* The member NAME of a struct or union, also within its bases and its members without names; then
 * the offset is from ID's begin. Of bases, the nearest one counts. False: there is none. */
bool types_member(struct types *graph, type_id id, const char *name, struct type_member *ret);
/* As C writes it: "struct item *", "char [8]", "int (*)(char)", "void"; types that have a name of
 * their own by that, as Rust's "&str". To be freed. */
char *types_spell(struct types *graph, type_id id);
/* The same as a declaration of NAME: "int (*NAME)(char)". */
char *types_declare(struct types *graph, type_id id, const char *name);
/* A type of that kind and name that was read; 0: none. Not those a lazy graph has not read. */
type_id types_find(const struct types *graph, enum type_kind kind, const char *name);

/* ---- for readers ---- */

/* Copies TYPE with its members, values and names. Returns its number; 0: there are too many. */
type_id types_add(struct types *graph, const struct type *type);
/* A number for a type that comes later: by types_set(), or, at the first types_get(), by the
 * source's `read`. HANDLE is the source's. */
struct type_source {
    /* The type, whose arrays and names are copied at once, with `ret_free` if that is not NULL
     * freed. False: it cannot be read; then it is unknown. It may call types_reserve(). */
    bool (*read)(void *ctx, uint64_t handle, struct type *ret, void **ret_free);
    /* The definition of a forward with that name and HANDLE, or 0. May be NULL. */
    type_id (*define)(void *ctx, uint64_t handle, const char *name);
    void *ctx; /* lives as long as the graph, or until types_detach() */
};
type_id types_reserve(struct types *graph, const struct type_source *source, uint64_t handle);
void types_set(struct types *graph, type_id id, const struct type *type);
/* SOURCE's handle of a type that it gave a number. False: it is not of SOURCE. */
bool types_handle(const struct types *graph, type_id id, const struct type_source *source,
                  uint64_t *ret);
/* Forgets all types and their names, as if GRAPH were new. */
void types_clear(struct types *graph);
/* Types of SOURCE that were not read become unknown. */
void types_detach(struct types *graph, const struct type_source *source);
/* A copy of NAME that lives as long as the graph, once for all equal ones. */
const char *types_name(struct types *graph, const char *name);

/* ---- copies of a part of a graph ---- */

/* Copies types from one graph to another, each once. What pointers point to is copied as a forward
 * of that name, so that the copy is small, if `shallow`. */
struct types_copy;
struct types_copy *types_copy_new(struct types *from, struct types *to, bool shallow);
void types_copy_free(struct types_copy *copy);
/* The number in the other graph. */
type_id types_copy_add(struct types_copy *copy, type_id id);

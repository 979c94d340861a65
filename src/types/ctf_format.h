/*
 * The layout of a CTF dictionary, version 3, and of archives of dictionaries, as GNU ld makes them.
 * See "The CTF File Format" in the documentation of GNU binutils. Numbers are in the byte order of
 * the machine.
 *
 *     header │ labels │ objects │ functions │ their names │ variables │ types │ strings
 *
 * A type is a record of two words and one that is its size or another type's number, then, by its
 * kind, more words. Types are numbered from 1 in their order; those of a child from 0x80000001.
 */
#pragma once

#include <stdint.h>

#define CTF_ARCHIVE_MAGIC 0x8b47f2a4d7623eebu

enum {
    CTF_MAGIC = 0xdff2,
    CTF_VERSION = 4, /* of the file's format 3 */
    CTF_COMPRESSED = 1,
    CTF_NEW_FUNCTIONS = 2, /* functions have a type each, as objects */
    CTF_SORTED = 4,        /* names of objects and functions are in order */
    CTF_DYNAMIC_STRINGS = 8,
    CTF_MOST_TYPES = 0x7ffffffe,
    CTF_MOST_PARTS = 0xffffff,    /* members, values, parameters of a type */
    CTF_SIZE_LARGE = -1,          /* as a word: two words with the size follow */
    CTF_LARGE_STRUCT = 0x20000000 /* from this size on, offsets of members take two words */
};
#define CTF_CHILD 0x80000000u    /* in numbers of types: a child's own */
#define CTF_EXTERNAL 0x80000000u /* in places of names: in the string table of the ELF file */
#define CTF_ROOT 0x2000000u      /* in a type's word: it can be found by its name */

struct ctf_header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t parent_label, parent, unit; /* names */
    /* Places, from the header's end on. */
    uint32_t labels, objects, functions, object_names, function_names, variables, types, strings;
    uint32_t string_bytes;
};

enum ctf_kind {
    CTF_UNKNOWN,
    CTF_INTEGER,
    CTF_FLOAT,
    CTF_POINTER,
    CTF_ARRAY,
    CTF_FUNCTION,
    CTF_STRUCT,
    CTF_UNION,
    CTF_ENUM,
    CTF_FORWARD, /* the last word is the kind that is meant */
    CTF_TYPEDEF,
    CTF_VOLATILE,
    CTF_CONST,
    CTF_RESTRICT,
    CTF_SLICE /* a part of an integer or enum: the type of a bit field */
};

/* Of integers and floats: a word that is encoding << 24 | offset << 16 | bits. */
enum ctf_integer { CTF_SIGNED = 1, CTF_CHAR = 2, CTF_BOOL = 4, CTF_VARARGS = 8 };
enum ctf_float {
    CTF_SINGLE = 1,
    CTF_DOUBLE,
    CTF_COMPLEX,
    CTF_DOUBLE_COMPLEX,
    CTF_LONG_COMPLEX,
    CTF_LONG_DOUBLE
};

struct ctf_archive {
    uint64_t magic, model, count, names, dictionaries;
    /* then COUNT times: place of a name from `names` on, place of a dictionary from
       `dictionaries` on: its size (uint64_t), then itself */
};

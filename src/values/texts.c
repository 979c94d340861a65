/* The table of text types. */
#include "values/texts.h"

#include <fnmatch.h>
#include <string.h>

#include "values/shape.h"

static const struct text_type table[] = {
    /* libstdc++: with small texts inside (since GCC 5), and copied on write */
    {"std::*string*", "_M_dataplus._M_p", "_M_string_length"},
    {"std::*string*", "_M_dataplus._M_p", NULL},
    {"std::*string_view*", "_M_str", "_M_len"},
    {"std::*string_view*", "__data_", "__size_"}, /* libc++ */
    /* Rust */
    {"&str", "data_ptr", "length"},
    {"&mut str", "data_ptr", "length"},
    {"alloc::string::String", "vec.buf.ptr.pointer.pointer", "vec.len"},
    {"alloc::string::String", "vec.buf.inner.ptr.pointer.pointer", "vec.len"},
    /* Go */
    {"string", "str", "len"}};

enum { MOST_PATH = 128 };

bool text_member(struct types *types, type_id type, const char *path, struct type_member *ret) {
    char part[MOST_PATH];
    struct type_member found = {.type = type};
    while (*path) {
        size_t n = strcspn(path, ".");
        struct type_member next;
        if (n >= sizeof part)
            return false;
        memcpy(part, path, n);
        part[n] = '\0';
        if (!types_member(types, shape_id(types, found.type), part, &next) || next.bit_size)
            return false;
        next.bit_offset += found.bit_offset;
        found = next;
        path += n + (path[n] == '.');
    }
    *ret = found;
    return true;
}

unsigned text_unit(struct types *types, type_id pointer) {
    const struct type *p = shape_get(types, pointer);
    if (!p || p->kind != TYPE_POINTER || (p->flags & (TYPE_REFERENCE | TYPE_MEMBER_POINTER)))
        return 0;
    return shape_character(types, p->of);
}

/* Bytes of what the address member points to. */
static unsigned unit_of(struct types *types, type_id pointer) {
    const struct type *p = shape_get(types, pointer);
    if (!p || p->kind != TYPE_POINTER)
        return 0;
    uint64_t bytes = shape_bytes(types, p->of);
    return bytes == 1 || bytes == 2 || bytes == 4 ? (unsigned)bytes : 0;
}

const struct text_type *text_type_of(struct types *types, type_id type, unsigned *ret_unit) {
    const struct type *t = shape_get(types, type);
    struct type_member address, length;
    if (!t || t->kind != TYPE_STRUCT || !*t->name)
        return NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct text_type *row = &table[i];
        if (fnmatch(row->name, t->name, 0) != 0 ||
            !text_member(types, type, row->address, &address) ||
            (row->length && !text_member(types, type, row->length, &length)))
            continue;
        *ret_unit = unit_of(types, address.type);
        if (*ret_unit)
            return row;
    }
    return NULL;
}

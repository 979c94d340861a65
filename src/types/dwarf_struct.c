/* Structs, unions and classes: members, bases, bit fields, variants of Rust; and whether C++ passes
 * them by reference. */
#include <string.h>

#include "types/dwarf_reader.h"

struct members {
    struct debug_types *d;
    enum source_language language;
    ARRAY(struct type_member) list;
    bool variants;
};

/* ---- offsets ---- */

/* The offset of a member or base in bytes. False: it is computed at run time. */
static bool read_offset(Dwarf_Die *die, uint64_t *ret) {
    Dwarf_Attribute found;
    Dwarf_Op *ops;
    size_t count;
    *ret = 0;
    if (!dwarf_attr(die, DW_AT_data_member_location, &found))
        return true;
    if (dwarf_number(die, DW_AT_data_member_location, ret))
        return true;
    if (dwarf_getlocation(&found, &ops, &count) != 0 || count != 1 ||
        (ops[0].atom != DW_OP_plus_uconst && ops[0].atom != DW_OP_constu))
        return false;
    *ret = ops[0].number;
    return true;
}

/* DWARF 3 counts DW_AT_bit_offset from the highest bit of the storage unit. */
static void read_bits(struct debug_types *d, Dwarf_Die *die, struct type_member *m) {
    uint64_t bits, at, storage;
    if (dwarf_number(die, DW_AT_data_bit_offset, &at))
        m->bit_offset = at;
    if (!dwarf_number(die, DW_AT_bit_size, &bits) || !bits || bits > UINT32_MAX)
        return;
    m->bit_size = (uint32_t)bits;
    if (!dwarf_number(die, DW_AT_bit_offset, &at))
        return;
    if (!dwarf_number(die, DW_AT_byte_size, &storage))
        storage = types_bytes(d->graph, m->type);
    m->bit_offset += storage * 8 - at - bits;
}

/* ---- members ---- */

static bool is_static(Dwarf_Die *die) {
    return dwarf_flag(die, DW_AT_external) || dwarf_flag(die, DW_AT_declaration);
}

static void add_member(struct members *all, Dwarf_Die *die, uint32_t flags) {
    uint64_t offset;
    const char *name = dwarf_string_at(die, DW_AT_name);
    if (all->list.count == DWARF_MOST_MEMBERS || is_static(die))
        return;
    struct type_member m = {.name = name ? name : "", .flags = flags};
    m.type = dwarf_type_at(all->d, die, DW_AT_type, all->language);
    if (dwarf_flag(die, DW_AT_artificial))
        m.flags |= MEMBER_ARTIFICIAL;
    if (read_offset(die, &offset) && offset <= UINT64_MAX / 8)
        m.bit_offset = offset * 8;
    else
        m.flags |= MEMBER_VIRTUAL;
    read_bits(all->d, die, &m);
    ARRAY_PUSH(&all->list, m);
}

static void add_base(struct members *all, Dwarf_Die *die) {
    size_t before = all->list.count;
    add_member(all, die, MEMBER_BASE);
    if (all->list.count == before)
        return;
    struct type_member *m = &all->list.at[before];
    m->name = types_get_plain(all->d->graph, m->type)->name;
    if (dwarf_number_or_0(die, DW_AT_virtuality) != DW_VIRTUALITY_none) {
        m->flags |= MEMBER_VIRTUAL;
        m->bit_offset = 0;
    }
}

/* ---- variants ---- */

/* Variants with lists of values (DW_AT_discr_list) are not told apart: none is made by rustc. */
static void add_variant(struct members *all, Dwarf_Die *variant) {
    Dwarf_Die child;
    uint64_t value = 0;
    bool known = dwarf_number(variant, DW_AT_discr_value, &value);
    if (dwarf_child(variant, &child) != 0)
        return;
    do {
        if (dwarf_tag(&child) != DW_TAG_member)
            continue;
        size_t before = all->list.count;
        add_member(all, &child, MEMBER_VARIANT | (known ? 0 : MEMBER_DEFAULT));
        if (all->list.count > before)
            all->list.at[before].value = (int64_t)value;
    } while (dwarf_siblingof(&child, &child) == 0);
}

static void add_variants(struct members *all, Dwarf_Die *part) {
    Dwarf_Attribute found;
    Dwarf_Die child, discriminant;
    all->variants = true;
    if (dwarf_formref_die(dwarf_attr(part, DW_AT_discr, &found), &discriminant))
        add_member(all, &discriminant, MEMBER_DISCRIMINANT);
    if (dwarf_child(part, &child) != 0)
        return;
    do
        if (dwarf_tag(&child) == DW_TAG_variant)
            add_variant(all, &child);
    while (dwarf_siblingof(&child, &child) == 0);
}

/* ---- by reference ---- */

static bool is_by_reference(struct debug_types *d, type_id id) {
    const struct type *type = types_get_plain(d->graph, id);
    for (int i = 0; i < DWARF_DEEPEST && type->kind == TYPE_ARRAY; i++)
        type = types_get_plain(d->graph, type->of);
    return type->flags & TYPE_BY_REFERENCE;
}

/* The class's name without template arguments: that of its constructors. */
static bool is_constructor_name(const char *name, const char *class_name) {
    size_t size = strcspn(class_name, "<");
    return strncmp(name, class_name, size) == 0 && (!name[size] || name[size] == '<');
}

/* Whether the second parameter of METHOD, behind `this`, is a reference to CLASS. */
static bool takes_its_class(Dwarf_Die *method, const Dwarf_Die *class) {
    Dwarf_Die child, type;
    Dwarf_Attribute found;
    unsigned index = 0;
    for (int rc = dwarf_child(method, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        if (dwarf_tag(&child) != DW_TAG_formal_parameter || index++ != 1)
            continue;
        if (!dwarf_formref_die(dwarf_attr(&child, DW_AT_type, &found), &type) ||
            (dwarf_tag(&type) != DW_TAG_reference_type &&
             dwarf_tag(&type) != DW_TAG_rvalue_reference_type) ||
            !dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &found), &type))
            return false;
        if (dwarf_tag(&type) == DW_TAG_const_type &&
            !dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &found), &type))
            return false;
        return type.addr == class->addr;
    }
    return false;
}

/* A destructor, or a constructor that copies or moves, which the source defines. */
static bool makes_copies_hard(Dwarf_Die *method, const char *class_name, const Dwarf_Die *class) {
    const char *name = dwarf_string_at(method, DW_AT_name);
    if (!name || !class_name || dwarf_number_or_0(method, DW_AT_defaulted) == DW_DEFAULTED_in_class)
        return false;
    if (dwarf_number_or_0(method, DW_AT_virtuality) != DW_VIRTUALITY_none)
        return true;
    if (dwarf_flag(method, DW_AT_artificial))
        return false;
    return name[0] == '~' ||
           (is_constructor_name(name, class_name) && takes_its_class(method, class));
}

static bool has_hard_method(Dwarf_Die *die) {
    Dwarf_Die child;
    const char *name = dwarf_string_at(die, DW_AT_name);
    for (int rc = dwarf_child(die, &child); rc == 0; rc = dwarf_siblingof(&child, &child))
        if (dwarf_tag(&child) == DW_TAG_subprogram && makes_copies_hard(&child, name, die))
            return true;
    return false;
}

/* DWARF 5 says so; before, a class is judged by its functions and by what it consists of. */
static bool passed_by_reference(const struct members *all, Dwarf_Die *die) {
    uint64_t convention;
    if (dwarf_number(die, DW_AT_calling_convention, &convention))
        return convention == DW_CC_pass_by_reference;
    if (has_hard_method(die))
        return true;
    for (size_t i = 0; i < all->list.count; i++)
        if (all->list.at[i].flags & MEMBER_VIRTUAL || is_by_reference(all->d, all->list.at[i].type))
            return true;
    return false;
}

/* ---- all of it ---- */

static void add_child(struct members *all, Dwarf_Die *child) {
    switch (dwarf_tag(child)) {
    case DW_TAG_member:
        add_member(all, child, 0);
        break;
    case DW_TAG_inheritance:
        add_base(all, child);
        break;
    case DW_TAG_variant_part:
        add_variants(all, child);
        break;
    default:
        break;
    }
}

bool dwarf_read_struct(struct debug_types *d, Dwarf_Die *die, enum source_language language,
                       struct type *ret, void **ret_free) {
    struct members all = {.d = d, .language = language};
    Dwarf_Die child;
    int tag = dwarf_tag(die);
    for (int rc = dwarf_child(die, &child); rc == 0; rc = dwarf_siblingof(&child, &child))
        add_child(&all, &child);
    ret->kind = tag == DW_TAG_union_type ? TYPE_UNION : TYPE_STRUCT;
    ret->flags = (tag == DW_TAG_class_type ? TYPE_CLASS : 0) | (all.variants ? TYPE_VARIANTS : 0);
    if (language == SOURCE_CXX && passed_by_reference(&all, die))
        ret->flags |= TYPE_BY_REFERENCE;
    ret->members = all.list.at;
    ret->count = (uint32_t)all.list.count;
    *ret_free = all.list.at;
    return true;
}

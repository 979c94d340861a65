/* Types of all kinds but structs, from their entries in DWARF. */
#include <string.h>

#include "types/dwarf_reader.h"

/* ---- attributes ---- */

static bool is_signed_form(unsigned form) {
    return form == DW_FORM_sdata || form == DW_FORM_implicit_const;
}

bool dwarf_number(Dwarf_Die *die, unsigned attribute, uint64_t *ret) {
    Dwarf_Attribute found;
    Dwarf_Word value;
    Dwarf_Sword number;
    if (!dwarf_attr_integrate(die, attribute, &found))
        return false;
    if (is_signed_form(dwarf_whatform(&found))) {
        if (dwarf_formsdata(&found, &number) != 0)
            return false;
        *ret = (uint64_t)number;
        return true;
    }
    if (dwarf_formudata(&found, &value) != 0)
        return false;
    *ret = value;
    return true;
}

uint64_t dwarf_number_or_0(Dwarf_Die *die, unsigned attribute) {
    uint64_t value;
    return dwarf_number(die, attribute, &value) ? value : 0;
}

bool dwarf_flag(Dwarf_Die *die, unsigned attribute) {
    Dwarf_Attribute found;
    bool value = false;
    return dwarf_attr(die, attribute, &found) && dwarf_formflag(&found, &value) == 0 && value;
}

const char *dwarf_string_at(Dwarf_Die *die, unsigned attribute) {
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

/* ---- numbers ---- */

static uint32_t *place_of(const struct debug_types *d, const void *addr) {
    size_t mask = d->by_die_room - 1;
    size_t at = (size_t)(((uintptr_t)addr * 0x9e3779b97f4a7c15) >> 20) & mask;
    while (d->by_die[at] && d->entries.at[d->by_die[at] - 1].die.addr != addr)
        at = (at + 1) & mask;
    return &d->by_die[at];
}

static void grow(struct debug_types *d) {
    free(d->by_die);
    d->by_die_room = d->by_die_room ? d->by_die_room * 2 : 1024;
    d->by_die = mem_alloc(d->by_die_room * sizeof *d->by_die);
    for (size_t i = 0; i < d->entries.count; i++)
        *place_of(d, d->entries.at[i].die.addr) = (uint32_t)(i + 1);
}

type_id dwarf_type_id(struct debug_types *d, Dwarf_Die *die, enum source_language language) {
    if (d->entries.count * 2 >= d->by_die_room)
        grow(d);
    uint32_t *place = place_of(d, die->addr);
    if (*place)
        return d->entries.at[*place - 1].id;
    type_id id = types_reserve(d->graph, &d->source, d->entries.count);
    if (id) {
        *place = (uint32_t)(d->entries.count + 1);
        ARRAY_PUSH(&d->entries, ((struct dwarf_entry){*die, id, (uint8_t)language}));
    }
    return id;
}

void debug_types_forget(struct debug_types *d, type_id *kept, size_t count) {
    struct dwarf_entry *entries = d->entries.at;
    AUTO_FREE uint64_t *handles = mem_alloc((count + 1) * sizeof *handles);
    for (size_t i = 0; i < count; i++)
        if (!types_handle(d->graph, kept[i], &d->source, &handles[i]))
            kept[i] = 0;
    types_clear(d->graph);
    d->entries.at = NULL;
    d->entries.count = d->entries.room = 0;
    free(steal(d->by_die));
    d->by_die_room = 0;
    for (size_t i = 0; i < count; i++)
        if (kept[i]) {
            struct dwarf_entry *e = &entries[handles[i]];
            kept[i] = dwarf_type_id(d, &e->die, (enum source_language)e->language);
        }
    free(entries);
}

type_id dwarf_type_at(struct debug_types *d, Dwarf_Die *die, unsigned attribute,
                      enum source_language language) {
    Dwarf_Attribute found;
    Dwarf_Die type;
    if (!dwarf_formref_die(dwarf_attr_integrate(die, attribute, &found), &type))
        return 0;
    return dwarf_type_id(d, &type, dwarf_language_of(&type, language));
}

/* ---- kinds ---- */

struct reading {
    struct debug_types *d;
    Dwarf_Die *die;
    enum source_language language;
    struct type *ret;
    void **ret_free; /* what is freed with the type: the name, or an array */
};

static void read_base(const struct reading *r) {
    struct type *t = r->ret;
    t->kind = TYPE_INTEGER;
    switch (dwarf_number_or_0(r->die, DW_AT_encoding)) {
    case DW_ATE_boolean:
        t->flags = TYPE_BOOLEAN;
        break;
    case DW_ATE_complex_float:
    case DW_ATE_imaginary_float:
        t->kind = TYPE_FLOAT;
        t->flags = TYPE_COMPLEX;
        break;
    case DW_ATE_float:
        t->kind = TYPE_FLOAT;
        break;
    case DW_ATE_decimal_float:
        t->kind = TYPE_FLOAT;
        t->flags = TYPE_DECIMAL;
        break;
    case DW_ATE_signed_char:
        t->flags = TYPE_SIGNED;
        t->flags |= strcmp(t->name, "signed char") == 0 ? 0 : TYPE_CHARACTER;
        break;
    case DW_ATE_unsigned_char:
        t->flags = strcmp(t->name, "unsigned char") == 0 ? 0 : TYPE_CHARACTER;
        break;
    case DW_ATE_UTF:
    case DW_ATE_ASCII:
    case DW_ATE_UCS:
        t->flags = TYPE_CHARACTER;
        break;
    case DW_ATE_signed:
        t->flags = TYPE_SIGNED;
        break;
    case DW_ATE_lo_user: /* GCC's complex integers */
        t->flags = TYPE_COMPLEX | TYPE_SIGNED;
        break;
    default:
        break;
    }
    if (strcmp(t->name, "wchar_t") == 0)
        t->flags |= TYPE_CHARACTER;
}

static void read_pointer(const struct reading *r, int tag) {
    struct type *t = r->ret;
    t->kind = TYPE_POINTER;
    t->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
    if (!t->bytes)
        t->bytes = r->d->module->word_bytes;
    if (tag == DW_TAG_reference_type)
        t->flags = TYPE_REFERENCE;
    if (tag == DW_TAG_rvalue_reference_type)
        t->flags = TYPE_REFERENCE | TYPE_RVALUE;
}

/* Pointers to functions have the function's address and a correction of `this`. */
static void read_member_pointer(const struct reading *r) {
    Dwarf_Attribute found;
    Dwarf_Die type;
    r->ret->kind = TYPE_POINTER;
    r->ret->flags = TYPE_MEMBER_POINTER;
    r->ret->bytes = r->d->module->word_bytes;
    r->ret->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
    if (dwarf_formref_die(dwarf_attr(r->die, DW_AT_type, &found), &type) &&
        dwarf_tag(&type) == DW_TAG_subroutine_type)
        r->ret->bytes *= 2;
}

static void read_qualifier(const struct reading *r, uint32_t flag) {
    r->ret->kind = TYPE_QUALIFIER;
    r->ret->flags = flag;
    r->ret->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
}

static void read_typedef(const struct reading *r) {
    r->ret->kind = TYPE_TYPEDEF;
    r->ret->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
}

/* ---- arrays ---- */

/* False: the number of elements is not known. */
static bool read_dimension(Dwarf_Die *range, uint64_t *ret) {
    uint64_t upper, lower = 0;
    if (dwarf_number(range, DW_AT_count, ret))
        return true;
    Dwarf_Die unit;
    int lang = dwarf_diecu(range, &unit, NULL, NULL) ? dwarf_srclang(&unit) : 0;
    if (lang == DW_LANG_Fortran77 || lang == DW_LANG_Fortran90 || lang == DW_LANG_Fortran95 ||
        lang == DW_LANG_Fortran03 || lang == DW_LANG_Fortran08)
        lower = 1;
    dwarf_number(range, DW_AT_lower_bound, &lower);
    if (!dwarf_number(range, DW_AT_upper_bound, &upper))
        return false;
    /* GCC writes the bound −1 of int[0] as a number of 32 bits, or of 64. */
    *ret = upper == UINT32_MAX || upper + 1 < lower ? 0 : upper + 1 - lower;
    return true;
}

static bool is_dimension(Dwarf_Die *die) {
    int tag = dwarf_tag(die);
    return tag == DW_TAG_subrange_type || tag == DW_TAG_enumeration_type ||
           tag == DW_TAG_generic_subrange;
}

typedef ARRAY(struct dimension {
    uint64_t elements;
    bool known;
}) dimensions;

static void read_dimensions(Dwarf_Die *die, dimensions *ret) {
    enum { MOST = 16 };
    Dwarf_Die child;
    if (dwarf_child(die, &child) != 0)
        return;
    do {
        struct dimension one = {0};
        if (!is_dimension(&child) || ret->count == MOST)
            continue;
        one.known = read_dimension(&child, &one.elements);
        ARRAY_PUSH(ret, one);
    } while (dwarf_siblingof(&child, &child) == 0);
}

/* As Rust writes it, with what DWARF tells. */
static const char *rust_array_name(const struct reading *r, const struct type *t) {
    AUTO_FREE char *of = types_spell(r->d->graph, t->of);
    AUTO_FREE char *name = mem_printf("[%s; %ju]", of, t->elements);
    return types_name(r->d->graph, name);
}

static bool read_array(const struct reading *r) {
    dimensions all = {0};
    struct type *t = r->ret;
    read_dimensions(r->die, &all);
    t->kind = TYPE_ARRAY;
    t->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
    t->flags = dwarf_flag(r->die, DW_AT_GNU_vector) ? TYPE_VECTOR : 0;
    for (size_t i = all.count; i-- > 1;) {
        struct type row = {.kind = TYPE_ARRAY, .name = "", .of = t->of};
        row.elements = all.at[i].elements;
        row.flags = all.at[i].known ? 0 : TYPE_OPEN;
        t->of = types_add(r->d->graph, &row);
    }
    if (all.count && all.at[0].known)
        t->elements = all.at[0].elements;
    else
        t->flags |= TYPE_OPEN;
    if (r->language == SOURCE_RUST && all.count == 1 && !*t->name)
        t->name = rust_array_name(r, t);
    ARRAY_FREE(&all);
    /* Elements that do not lie one behind the other: no such array is shown. */
    return !dwarf_hasattr(r->die, DW_AT_bit_stride) && !dwarf_hasattr(r->die, DW_AT_byte_stride);
}

/* ---- enums and functions ---- */

static void read_enum(const struct reading *r) {
    ARRAY(struct type_value) values = {0};
    Dwarf_Die child;
    bool negative = false;
    struct type *t = r->ret;
    t->kind = TYPE_ENUM;
    t->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
    for (int rc = dwarf_child(r->die, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        uint64_t value;
        const char *name = dwarf_string_at(&child, DW_AT_name);
        if (dwarf_tag(&child) != DW_TAG_enumerator || values.count == DWARF_MOST_MEMBERS ||
            !dwarf_number(&child, DW_AT_const_value, &value))
            continue;
        ARRAY_PUSH(&values, ((struct type_value){name ? name : "", (int64_t)value}));
        negative |= (int64_t)value < 0;
    }
    const struct type *below = types_get_plain(r->d->graph, t->of);
    bool is_signed = below->kind == TYPE_INTEGER ? below->flags & TYPE_SIGNED : negative;
    t->flags = (is_signed ? TYPE_SIGNED : 0) |
               (dwarf_flag(r->die, DW_AT_enum_class) ? TYPE_ENUM_CLASS : 0);
    if (!t->bytes)
        t->bytes = below->bytes;
    t->values = values.at;
    t->count = (uint32_t)values.count;
    *r->ret_free = values.at;
}

static void read_function(const struct reading *r) {
    ARRAY(struct type_member) parameters = {0};
    Dwarf_Die child;
    struct type *t = r->ret;
    t->kind = TYPE_FUNCTION;
    t->of = dwarf_type_at(r->d, r->die, DW_AT_type, r->language);
    for (int rc = dwarf_child(r->die, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        int tag = dwarf_tag(&child);
        const char *name = dwarf_string_at(&child, DW_AT_name);
        if (tag == DW_TAG_unspecified_parameters)
            t->flags |= TYPE_VARARGS;
        if (tag != DW_TAG_formal_parameter || parameters.count == DWARF_MOST_MEMBERS)
            continue;
        struct type_member m = {.name = name ? name : ""};
        m.type = dwarf_type_at(r->d, &child, DW_AT_type, r->language);
        m.flags = dwarf_flag(&child, DW_AT_artificial) ? MEMBER_ARTIFICIAL : 0;
        ARRAY_PUSH(&parameters, m);
    }
    t->members = parameters.at;
    t->count = (uint32_t)parameters.count;
    *r->ret_free = parameters.at;
}

/* ---- forwards ---- */

/* What is only declared here may be defined in a type unit, which is named by a signature. */
static bool follow_signature(Dwarf_Die *die) {
    Dwarf_Attribute found;
    Dwarf_Die type;
    if (!dwarf_formref_die(dwarf_attr(die, DW_AT_signature, &found), &type))
        return false;
    *die = type;
    return true;
}

static void read_forward(const struct reading *r, int tag) {
    r->ret->kind = TYPE_FORWARD;
    r->ret->bytes = 0;
    r->ret->flags = tag == DW_TAG_union_type         ? TYPE_OF_UNION
                    : tag == DW_TAG_enumeration_type ? TYPE_OF_ENUM
                                                     : 0;
}

type_id dwarf_define_forward(void *ctx, uint64_t handle, const char *name) {
    struct debug_types *d = ctx;
    Dwarf_Die die = d->entries.at[handle].die;
    return dwarf_define(d, name, dwarf_tag(&die));
}

/* ---- dispatch ---- */

static bool is_tagged(int tag) {
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_interface_type || tag == DW_TAG_enumeration_type;
}

static bool read_tagged(const struct reading *r, int tag) {
    bool done = true;
    if (dwarf_flag(r->die, DW_AT_declaration))
        read_forward(r, tag);
    else if (tag == DW_TAG_enumeration_type)
        read_enum(r);
    else
        done = dwarf_read_struct(r->d, r->die, r->language, r->ret, r->ret_free);
    if (r->language == SOURCE_C)
        r->ret->flags |= TYPE_TAG;
    return done;
}

static bool read_other(const struct reading *r, int tag) {
    switch (tag) {
    case DW_TAG_base_type:
        read_base(r);
        return true;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        read_pointer(r, tag);
        return true;
    case DW_TAG_ptr_to_member_type:
        read_member_pointer(r);
        return true;
    case DW_TAG_array_type:
        return read_array(r);
    case DW_TAG_subroutine_type:
        if (r->language == SOURCE_GO) { /* the address of a closure */
            r->ret->kind = TYPE_POINTER;
            r->ret->bytes = r->d->module->word_bytes;
        } else {
            read_function(r);
        }
        return true;
    case DW_TAG_string_type:
        r->ret->kind = TYPE_STRING;
        return true;
    case DW_TAG_unspecified_type: /* nullptr_t is a pointer, others are void */
        read_pointer(r, tag);
        return strstr(r->ret->name, "nullptr") != NULL;
    default:
        return false;
    }
}

static bool read_renamed(const struct reading *r, int tag) {
    switch (tag) {
    case DW_TAG_typedef:
    case DW_TAG_template_alias:
    case DW_TAG_subrange_type:
        read_typedef(r);
        return true;
    case DW_TAG_const_type:
        read_qualifier(r, TYPE_CONST);
        return true;
    case DW_TAG_volatile_type:
        read_qualifier(r, TYPE_VOLATILE);
        return true;
    case DW_TAG_restrict_type:
        read_qualifier(r, TYPE_RESTRICT);
        return true;
    case DW_TAG_atomic_type:
        read_qualifier(r, TYPE_ATOMIC);
        return true;
    case DW_TAG_immutable_type:
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
        read_qualifier(r, 0);
        return true;
    default:
        return is_tagged(tag) ? read_tagged(r, tag) : read_other(r, tag);
    }
}

/* Types of one name may lie in all pages of a file. */
static void let_go_now_and_then(struct debug_types *d) {
    enum { READS = 256 };
    if (++d->reads % READS)
        return;
    dwarf_let_go(&d->file);
    dwarf_let_go(&d->alt);
}

bool dwarf_read_type(void *ctx, uint64_t handle, struct type *ret, void **ret_free) {
    struct debug_types *d = ctx;
    let_go_now_and_then(d);
    struct dwarf_entry entry = d->entries.at[handle];
    Dwarf_Die die = entry.die;
    if (is_tagged(dwarf_tag(&die)) && follow_signature(&die))
        entry.language = (uint8_t)dwarf_language_of(&die, entry.language);
    AUTO_FREE char *name = dwarf_full_name(d, &die, entry.language);
    struct reading r = {d, &die, entry.language, ret, ret_free};
    *ret = (struct type){.name = types_name(d->graph, name)};
    ret->bytes = dwarf_number_or_0(&die, DW_AT_byte_size);
    if (!ret->bytes)
        ret->bytes = (dwarf_number_or_0(&die, DW_AT_bit_size) + 7) / 8;
    return read_renamed(&r, dwarf_tag(&die));
}

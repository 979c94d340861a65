/* Reads BTF. libbpf checks the data; types become the graph's when they are asked for. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>

#include "types/btf.h"

enum { ENUM64 = 19 }; /* BTF_KIND_ENUM64 of Linux 6.0 */

struct btf_reader {
    struct types *graph;
    struct btf *base, *btf;
    struct type_source source;
    type_id *numbers; /* by BTF's; 0: void, and what is no type */
    uint32_t count;
};

static const char *name_of(const struct btf_reader *r, uint32_t place) {
    const char *name = btf__name_by_offset(r->btf, place);
    return name ? name : "";
}

static type_id type_of(const struct btf_reader *r, uint32_t number) {
    return number < r->count ? r->numbers[number] : 0;
}

/* ---- kinds ---- */

static void read_integer(const struct btf_type *t, struct type *ret) {
    uint8_t encoding = btf_int_encoding(t);
    ret->kind = TYPE_INTEGER;
    ret->flags = (encoding & BTF_INT_SIGNED ? TYPE_SIGNED : 0u) |
                 (encoding & BTF_INT_CHAR ? TYPE_CHARACTER : 0u) |
                 (encoding & BTF_INT_BOOL ? TYPE_BOOLEAN : 0u);
    /* Compilers do not set BTF_INT_CHAR. */
    if (t->size == 1 && strstr(ret->name, "char"))
        ret->flags |= TYPE_CHARACTER;
}

static void read_members(const struct btf_reader *r, const struct btf_type *t, struct type *ret,
                         void **ret_free) {
    uint32_t count = btf_vlen(t);
    struct type_member *members = mem_alloc((count + 1) * sizeof *members);
    const struct btf_member *m = btf_members(t);
    for (uint32_t i = 0; i < count; i++)
        members[i] = (struct type_member){.name = name_of(r, m[i].name_off),
                                          .type = type_of(r, m[i].type),
                                          .bit_offset = btf_member_bit_offset(t, i),
                                          .bit_size = btf_member_bitfield_size(t, i)};
    ret->kind = btf_is_union(t) ? TYPE_UNION : TYPE_STRUCT;
    ret->flags = TYPE_TAG;
    ret->count = count;
    ret->members = members;
    *ret_free = members;
}

static void read_enum(const struct btf_reader *r, const struct btf_type *t, struct type *ret,
                      void **ret_free) {
    uint32_t count = btf_vlen(t);
    bool wide = btf_kind(t) == ENUM64;
    struct type_value *values = mem_alloc((count + 1) * sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        const struct btf_enum *e = (const struct btf_enum *)(t + 1) + i;
        const uint32_t *w = (const uint32_t *)(t + 1) + 3 * (size_t)i; /* name, low, high */
        values[i].name = name_of(r, wide ? w[0] : e->name_off);
        values[i].value = wide           ? (int64_t)((uint64_t)w[2] << 32 | w[1])
                          : btf_kflag(t) ? e->val
                                         : (int64_t)(uint32_t)e->val;
    }
    bool negative = false; /* kernels before 6.0 do not tell that values are signed */
    for (uint32_t i = 0; i < count && !wide && !btf_kflag(t); i++)
        negative |= values[i].value >= 0xffff8000;
    for (uint32_t i = 0; i < count && negative; i++)
        values[i].value = (int32_t)values[i].value;
    ret->kind = TYPE_ENUM;
    ret->flags = TYPE_TAG | (btf_kflag(t) || negative ? TYPE_SIGNED : 0u);
    ret->count = count;
    ret->values = values;
    *ret_free = values;
}

static void read_function(const struct btf_reader *r, const struct btf_type *t, struct type *ret,
                          void **ret_free) {
    uint32_t count = btf_vlen(t);
    const struct btf_param *p = btf_params(t);
    struct type_member *parameters = mem_alloc((count + 1) * sizeof *parameters);
    if (count && !p[count - 1].type) {
        ret->flags = TYPE_VARARGS;
        count--;
    }
    for (uint32_t i = 0; i < count; i++)
        parameters[i] =
            (struct type_member){.name = name_of(r, p[i].name_off), .type = type_of(r, p[i].type)};
    ret->kind = TYPE_FUNCTION;
    ret->of = type_of(r, t->type);
    ret->count = count;
    ret->members = parameters;
    *ret_free = parameters;
}

static void read_array(const struct btf_reader *r, const struct btf_type *t, struct type *ret) {
    const struct btf_array *a = btf_array(t);
    ret->kind = TYPE_ARRAY;
    ret->of = type_of(r, a->type);
    ret->elements = a->nelems;
}

static void read_reference(const struct btf_reader *r, const struct btf_type *t, struct type *ret) {
    uint16_t kind = btf_kind(t);
    ret->kind = kind == BTF_KIND_PTR       ? TYPE_POINTER
                : kind == BTF_KIND_TYPEDEF ? TYPE_TYPEDEF
                                           : TYPE_QUALIFIER;
    ret->flags = kind == BTF_KIND_CONST      ? TYPE_CONST
                 : kind == BTF_KIND_VOLATILE ? TYPE_VOLATILE
                 : kind == BTF_KIND_RESTRICT ? TYPE_RESTRICT
                                             : 0;
    ret->bytes = kind == BTF_KIND_PTR ? btf__pointer_size(r->btf) : 0;
    ret->of = type_of(r, t->type);
    if (kind == BTF_KIND_PTR || ret->kind == TYPE_QUALIFIER)
        ret->name = "";
}

static void read_forward(const struct btf_type *t, struct type *ret) {
    ret->kind = TYPE_FORWARD;
    ret->flags = TYPE_TAG | (btf_kflag(t) ? TYPE_OF_UNION : 0u);
}

static void read_sized(const struct btf_type *t, struct type *ret) {
    ret->bytes = t->size;
    if (btf_is_int(t))
        read_integer(t, ret);
    else
        ret->kind = TYPE_FLOAT;
}

static bool read_type(void *ctx, uint64_t number, struct type *ret, void **ret_free) {
    const struct btf_reader *r = ctx;
    const struct btf_type *t = btf__type_by_id(r->btf, (uint32_t)number);
    if (!t)
        return false;
    *ret = (struct type){.name = name_of(r, t->name_off)};
    switch (btf_kind(t)) {
    case BTF_KIND_INT:
    case BTF_KIND_FLOAT:
        read_sized(t, ret);
        return true;
    case BTF_KIND_ARRAY:
        read_array(r, t, ret);
        return true;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        ret->bytes = t->size;
        read_members(r, t, ret, ret_free);
        return true;
    case BTF_KIND_ENUM:
    case ENUM64:
        ret->bytes = t->size;
        read_enum(r, t, ret, ret_free);
        return true;
    case BTF_KIND_FWD:
        read_forward(t, ret);
        return true;
    case BTF_KIND_FUNC_PROTO:
        read_function(r, t, ret, ret_free);
        return true;
    default:
        read_reference(r, t, ret);
        return true;
    }
}

/* ---- the reader ---- */

/* Functions, variables, sections and tags of declarations are none. */
static bool is_type(const struct btf_type *t) {
    switch (btf_kind(t)) {
    case BTF_KIND_FUNC:
    case BTF_KIND_VAR:
    case BTF_KIND_DATASEC:
    case BTF_KIND_DECL_TAG:
        return false;
    default:
        return true;
    }
}

static void add_symbols(const struct btf_reader *r, struct type_set *to) {
    for (uint32_t i = 1; i < r->count; i++) {
        const struct btf_type *t = btf__type_by_id(r->btf, i);
        bool function = btf_is_func(t);
        const char *name = name_of(r, t->name_off);
        if ((function || btf_is_var(t)) && *name && type_of(r, t->type))
            ARRAY_PUSH(&to->symbols, ((struct type_symbol){name, type_of(r, t->type), function}));
    }
}

static void reserve(struct btf_reader *r, struct type_set *set) {
    r->numbers = mem_alloc(r->count * sizeof *r->numbers);
    for (uint32_t i = 1; i < r->count; i++)
        if (is_type(btf__type_by_id(r->btf, i))) {
            r->numbers[i] = types_reserve(r->graph, &r->source, i);
            ARRAY_PUSH(&set->all, r->numbers[i]);
        }
}

/* libbpf says on standard error what it does not like; ERR says it. */
static int be_silent(enum libbpf_print_level level, const char *fmt, va_list args) {
    (void)level, (void)fmt, (void)args;
    return 0;
}

static struct btf_reader *reader_new(struct types *graph) {
    struct btf_reader *r = mem_alloc(sizeof *r);
    r->graph = graph;
    r->source = (struct type_source){.read = read_type, .ctx = r};
    return r;
}

/* R, which has its data; NULL, if it has none. */
static struct btf_reader *begin(struct btf_reader *r, struct type_set *set, struct err *err) {
    if (!r->btf) {
        err_set(err, EINVAL, "btf-corrupt", "the BTF data is damaged, or of a newer kernel");
        btf_reader_free(r);
        return NULL;
    }
    r->count = btf__type_cnt(r->btf);
    reserve(r, set);
    add_symbols(r, set);
    return r;
}

struct btf_reader *btf_read(const uint8_t *bytes, size_t size, struct type_set *set,
                            struct err *err) {
    struct btf_reader *r = reader_new(set->graph);
    libbpf_print_fn_t before = libbpf_set_print(be_silent);
    if (size <= UINT32_MAX)
        r->btf = btf__new(bytes, (uint32_t)size);
    libbpf_set_print(before);
    return begin(r, set, err);
}

struct btf_reader *btf_read_split(const char *path, const char *base, struct type_set *set,
                                  struct err *err) {
    struct btf_reader *r = reader_new(set->graph);
    libbpf_print_fn_t before = libbpf_set_print(be_silent);
    r->base = btf__parse(base, NULL);
    if (r->base)
        r->btf = btf__parse_split(path, r->base);
    libbpf_set_print(before);
    return begin(r, set, err);
}

void btf_reader_free(struct btf_reader *r) {
    if (!r)
        return;
    if (r->graph)
        types_detach(r->graph, &r->source);
    btf__free(r->btf);
    btf__free(r->base);
    free(r->numbers);
    free(r);
}

bool btf_is(const uint8_t *bytes, size_t size) {
    uint16_t magic;
    if (size < sizeof(struct btf_header))
        return false;
    memcpy(&magic, bytes, sizeof magic);
    return magic == BTF_MAGIC;
}

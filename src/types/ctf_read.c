/* Reads CTF dictionaries. All records are checked first; then types are read when asked for. */
#include "types/ctf.h"

#include <errno.h>
#include <zlib.h>

#include "types/ctf_format.h"

enum { MOST_UNPACKED = 1 << 30, PLAIN_BYTES = 12, LARGE_BYTES = 20 };

struct section {
    uint32_t start, end; /* within `bytes` */
};

struct dictionary {
    struct ctf_reader *reader;
    const struct dictionary *parent; /* NULL: it is one */
    struct ctf_header header;
    const uint8_t *bytes; /* behind the header */
    uint8_t *unpacked;    /* what `bytes` are, if they were compressed */
    size_t size;
    struct type_source source;
    ARRAY(uint32_t) records; /* places of types */
    ARRAY(type_id) numbers;  /* the graph's */
};

struct ctf_reader {
    struct types *graph;
    struct ctf_file file;
    ARRAY(struct dictionary *) dictionaries; /* parents first */
};

/* ---- bytes ---- */

static uint32_t word_at(const uint8_t *p) {
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

static uint64_t wide_at(const uint8_t *p) {
    uint64_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* The name at PLACE; "" if there is none. */
static const char *name_at(const struct dictionary *d, uint32_t place) {
    const struct ctf_file *f = &d->reader->file;
    bool dynamic = d->header.flags & CTF_DYNAMIC_STRINGS;
    const char *table = (const char *)d->bytes + d->header.strings;
    size_t size = d->header.string_bytes;
    if (place & CTF_EXTERNAL) {
        table = dynamic ? f->dynamic_strings : f->strings;
        size = dynamic ? f->dynamic_string_bytes : f->string_bytes;
        place &= ~CTF_EXTERNAL;
    }
    if (!table || place >= size || !memchr(table + place, '\0', size - place))
        return "";
    return table + place;
}

/* ---- a type's record ---- */

struct record {
    enum ctf_kind kind;
    bool root;
    uint32_t parts; /* members, values, parameters */
    uint32_t name;
    uint32_t type; /* or the size, if that is not large */
    uint64_t size;
    const uint8_t *rest; /* behind the record's head */
    size_t rest_bytes;   /* of the kind's own part */
};

static size_t kind_bytes(const struct record *r) {
    switch (r->kind) {
    case CTF_INTEGER:
    case CTF_FLOAT:
        return 4;
    case CTF_ARRAY:
        return 12;
    case CTF_FUNCTION:
        return 4 * (size_t)(r->parts + (r->parts & 1));
    case CTF_STRUCT:
    case CTF_UNION:
        return (r->size < CTF_LARGE_STRUCT ? 12 : 16) * (size_t)r->parts;
    case CTF_ENUM:
        return 8 * (size_t)r->parts;
    case CTF_SLICE:
        return 8;
    default:
        return 0;
    }
}

/* Whether the head's last word is a size. */
static bool has_size(enum ctf_kind kind) {
    return kind == CTF_INTEGER || kind == CTF_FLOAT || kind == CTF_STRUCT || kind == CTF_UNION ||
           kind == CTF_ENUM || kind == CTF_SLICE || kind == CTF_UNKNOWN || kind == CTF_ARRAY;
}

/* The record at PLACE of the part that ends at END. False: it is not whole. */
static bool record_at(const struct dictionary *d, size_t place, size_t end, struct record *ret) {
    if (end - place < PLAIN_BYTES)
        return false;
    const uint8_t *p = d->bytes + place;
    uint32_t info = word_at(p + 4);
    *ret = (struct record){.kind = (enum ctf_kind)(info >> 26),
                           .root = info & CTF_ROOT,
                           .parts = info & CTF_MOST_PARTS,
                           .name = word_at(p),
                           .type = word_at(p + 8)};
    size_t head = PLAIN_BYTES;
    ret->size = has_size(ret->kind) ? ret->type : 0;
    if (has_size(ret->kind) && ret->type == (uint32_t)CTF_SIZE_LARGE) {
        if (end - place < LARGE_BYTES)
            return false;
        ret->size = (uint64_t)word_at(p + 12) << 32 | word_at(p + 16);
        head = LARGE_BYTES;
    }
    ret->rest = p + head;
    ret->rest_bytes = kind_bytes(ret);
    return ret->kind <= CTF_SLICE && ret->rest_bytes <= end - place - head;
}

/* ---- types ---- */

/* The graph's number of the dictionary's type NUMBER; 0: void, or there is none. */
static type_id type_of(const struct dictionary *d, uint32_t number) {
    const struct dictionary *in = d->parent && !(number & CTF_CHILD) ? d->parent : d;
    uint32_t index = (number & ~CTF_CHILD) - 1;
    return number && index < in->numbers.count ? in->numbers.at[index] : 0;
}

static const struct dictionary *holder(const struct dictionary *d, uint32_t number, size_t *ret) {
    const struct dictionary *in = d->parent && !(number & CTF_CHILD) ? d->parent : d;
    uint32_t index = (number & ~CTF_CHILD) - 1;
    if (!number || index >= in->records.count)
        return NULL;
    *ret = in->records.at[index];
    return in;
}

static void read_integer(const struct record *r, struct type *ret) {
    uint32_t data = word_at(r->rest), encoding = data >> 24;
    ret->kind = TYPE_INTEGER;
    ret->flags = (encoding & CTF_SIGNED ? TYPE_SIGNED : 0u) |
                 (encoding & CTF_BOOL ? TYPE_BOOLEAN : 0u) |
                 (encoding & CTF_CHAR ? TYPE_CHARACTER : 0u);
    if (!ret->bytes && !(data & 0xffff))
        *ret = (struct type){.name = ret->name}; /* how void is written */
}

static void read_float(const struct record *r, struct type *ret) {
    uint32_t encoding = word_at(r->rest) >> 24;
    bool complex = encoding >= CTF_COMPLEX && encoding <= CTF_LONG_COMPLEX;
    ret->kind = TYPE_FLOAT;
    ret->flags = complex ? TYPE_COMPLEX : 0;
}

/* A bit field's type is a slice: the member has its size, and the type below. */
static void take_slice_off(const struct dictionary *d, uint32_t number, struct type_member *m) {
    size_t place;
    struct record r;
    const struct dictionary *in = holder(d, number, &place);
    if (!in || !record_at(in, place, in->header.strings, &r))
        return;
    if (r.kind != CTF_SLICE) {
        uint32_t bits = r.kind == CTF_INTEGER ? word_at(r.rest) & 0xffff : 0;
        if (bits && bits != r.size * 8) { /* older compilers: an integer of a type of its own */
            m->bit_size = bits;
            m->bit_offset += word_at(r.rest) >> 16 & 0xff;
        }
        return;
    }
    uint32_t part = word_at(r.rest + 4);
    m->type = type_of(in, word_at(r.rest));
    m->bit_offset += part & 0xffff;
    m->bit_size = part >> 16;
}

static void read_members(const struct dictionary *d, const struct record *r, struct type *ret,
                         void **ret_free) {
    bool large = r->size >= CTF_LARGE_STRUCT;
    struct type_member *members = mem_alloc((r->parts + 1) * sizeof *members);
    for (uint32_t i = 0; i < r->parts; i++) {
        const uint8_t *p = r->rest + (large ? 16 : 12) * (size_t)i;
        uint32_t number = word_at(p + 8);
        members[i].name = name_at(d, word_at(p));
        members[i].bit_offset =
            large ? (uint64_t)word_at(p + 4) << 32 | word_at(p + 12) : word_at(p + 4);
        members[i].type = type_of(d, number);
        take_slice_off(d, number, &members[i]);
    }
    ret->kind = r->kind == CTF_UNION ? TYPE_UNION : TYPE_STRUCT;
    ret->flags = TYPE_TAG;
    ret->count = r->parts;
    ret->members = members;
    *ret_free = members;
}

static void read_enum(const struct dictionary *d, const struct record *r, struct type *ret,
                      void **ret_free) {
    struct type_value *values = mem_alloc((r->parts + 1) * sizeof *values);
    bool negative = false;
    for (uint32_t i = 0; i < r->parts; i++) {
        values[i].name = name_at(d, word_at(r->rest + 8 * (size_t)i));
        values[i].value = (int32_t)word_at(r->rest + 8 * (size_t)i + 4);
        negative |= values[i].value < 0;
    }
    ret->kind = TYPE_ENUM;
    ret->flags = TYPE_TAG | (negative ? TYPE_SIGNED : 0u);
    ret->count = r->parts;
    ret->values = values;
    *ret_free = values;
}

static void read_function(const struct dictionary *d, const struct record *r, struct type *ret,
                          void **ret_free) {
    uint32_t count = r->parts;
    struct type_member *parameters = mem_alloc((count + 1) * sizeof *parameters);
    if (count && !word_at(r->rest + 4 * (size_t)(count - 1))) {
        ret->flags |= TYPE_VARARGS;
        count--;
    }
    for (uint32_t i = 0; i < count; i++)
        parameters[i] =
            (struct type_member){.name = "", .type = type_of(d, word_at(r->rest + 4 * (size_t)i))};
    ret->kind = TYPE_FUNCTION;
    ret->name = ""; /* compilers give it the name of a function of this type */
    ret->of = type_of(d, r->type);
    ret->count = count;
    ret->members = parameters;
    *ret_free = parameters;
}

static void read_array(const struct dictionary *d, const struct record *r, struct type *ret) {
    ret->kind = TYPE_ARRAY;
    ret->bytes = 0; /* types_bytes() tells */
    ret->of = type_of(d, word_at(r->rest));
    ret->elements = word_at(r->rest + 8);
}

static void read_reference(const struct dictionary *d, const struct record *r, struct type *ret) {
    static const uint32_t flags[] = {
        [CTF_VOLATILE] = TYPE_VOLATILE, [CTF_CONST] = TYPE_CONST, [CTF_RESTRICT] = TYPE_RESTRICT};
    ret->kind = r->kind == CTF_POINTER   ? TYPE_POINTER
                : r->kind == CTF_TYPEDEF ? TYPE_TYPEDEF
                                         : TYPE_QUALIFIER;
    ret->flags = ret->kind == TYPE_QUALIFIER ? flags[r->kind] : 0;
    ret->bytes = r->kind == CTF_POINTER ? d->reader->file.pointer_bytes : 0;
    ret->of = type_of(d, r->type);
}

static void read_slice(const struct dictionary *d, const struct record *r, struct type *ret) {
    ret->kind = TYPE_TYPEDEF; /* only bit fields have slices; on its own it is what it is of */
    ret->bytes = 0;
    ret->of = type_of(d, word_at(r->rest));
}

static bool read_type(void *ctx, uint64_t place, struct type *ret, void **ret_free) {
    const struct dictionary *d = ctx;
    struct record r;
    if (!record_at(d, (size_t)place, d->header.strings, &r))
        return false;
    *ret = (struct type){.name = name_at(d, r.name), .bytes = r.size};
    switch (r.kind) {
    case CTF_INTEGER:
        read_integer(&r, ret);
        return true;
    case CTF_FLOAT:
        read_float(&r, ret);
        return true;
    case CTF_ARRAY:
        read_array(d, &r, ret);
        return true;
    case CTF_FUNCTION:
        read_function(d, &r, ret, ret_free);
        return true;
    case CTF_STRUCT:
    case CTF_UNION:
        read_members(d, &r, ret, ret_free);
        return true;
    case CTF_ENUM:
        read_enum(d, &r, ret, ret_free);
        return true;
    case CTF_FORWARD:
        ret->kind = TYPE_FORWARD;
        ret->flags = TYPE_TAG | (r.type == CTF_UNION  ? TYPE_OF_UNION
                                 : r.type == CTF_ENUM ? TYPE_OF_ENUM
                                                      : 0u);
        return true;
    case CTF_SLICE:
        read_slice(d, &r, ret);
        return true;
    case CTF_UNKNOWN:
        return true;
    default:
        read_reference(d, &r, ret);
        return true;
    }
}

/* ---- dictionaries ---- */

static int corrupt(struct err *err, const char *why) {
    return err_set(err, EINVAL, "ctf-corrupt", "the CTF data is damaged: %s", why);
}

static void dictionary_free(struct dictionary *d) {
    if (!d)
        return;
    if (d->reader->graph)
        types_detach(d->reader->graph, &d->source);
    free(d->unpacked);
    ARRAY_FREE(&d->records);
    ARRAY_FREE(&d->numbers);
    free(d);
}

static bool sections_are_good(const struct ctf_header *h, size_t size) {
    const uint32_t places[] = {h->labels,         h->objects,   h->functions, h->object_names,
                               h->function_names, h->variables, h->types,     h->strings};
    for (size_t i = 0; i + 1 < sizeof places / sizeof *places; i++)
        if (places[i] > places[i + 1] || places[i] & 3)
            return false;
    return h->strings <= size && h->string_bytes <= size - h->strings;
}

static int unpack(struct dictionary *d, const uint8_t *bytes, size_t size, struct err *err) {
    uint64_t whole = (uint64_t)d->header.strings + d->header.string_bytes;
    if (whole > MOST_UNPACKED || whole > (uint64_t)size * 1100 + 64)
        return corrupt(err, "its header claims more than it can hold");
    uLongf count = (uLongf)whole;
    d->unpacked = mem_alloc(whole + 1);
    if (uncompress(d->unpacked, &count, bytes, (uLong)size) != Z_OK || count != whole)
        return corrupt(err, "its compressed part does not unpack");
    d->bytes = d->unpacked;
    d->size = whole;
    return 0;
}

static int find_records(struct dictionary *d, struct err *err) {
    size_t at = d->header.types;
    struct record r;
    while (at < d->header.strings) {
        if (!record_at(d, at, d->header.strings, &r))
            return corrupt(err, "a type's record is not whole");
        ARRAY_PUSH(&d->records, (uint32_t)at);
        at = (size_t)(r.rest - d->bytes) + r.rest_bytes;
    }
    for (size_t i = 0; i < d->records.count; i++)
        ARRAY_PUSH(&d->numbers, types_reserve(d->reader->graph, &d->source, d->records.at[i]));
    return 0;
}

static int open_dictionary(struct dictionary *d, const uint8_t *bytes, size_t size,
                           struct err *err) {
    struct ctf_header *h = &d->header;
    if (size < sizeof *h)
        return corrupt(err, "it is shorter than a header");
    memcpy(h, bytes, sizeof *h);
    if (h->magic == (uint16_t)(CTF_MAGIC >> 8 | CTF_MAGIC << 8))
        return err_set(err, ENOTSUP, "ctf-version", "the CTF data has another byte order");
    if (h->magic != CTF_MAGIC)
        return err_set(err, EINVAL, "not-ctf", "this is not CTF data");
    if (h->version != CTF_VERSION)
        return err_set(err, ENOTSUP, "ctf-version",
                       "the CTF data has version %u of its layout; only 4 (format 3) can be read",
                       h->version);
    d->bytes = bytes + sizeof *h;
    d->size = size - sizeof *h;
    if (h->flags & CTF_COMPRESSED && unpack(d, d->bytes, d->size, err) < 0)
        return -EINVAL;
    if (!sections_are_good(h, d->size))
        return corrupt(err, "its parts are not within it");
    return find_records(d, err);
}

static int add_dictionary(struct ctf_reader *reader, const uint8_t *bytes, size_t size,
                          const struct dictionary *parent, struct err *err) {
    struct dictionary *d = mem_alloc(sizeof *d);
    d->reader = reader;
    d->source = (struct type_source){.read = read_type, .ctx = d};
    ARRAY_PUSH(&reader->dictionaries, d);
    int rc = open_dictionary(d, bytes, size, err);
    if (rc == 0 && parent && d->header.parent)
        d->parent = parent;
    return rc;
}

/* ---- archives ---- */

struct entry {
    const char *name;
    const uint8_t *bytes;
    size_t size;
};

static bool entry_at(const struct ctf_file *f, const struct ctf_archive *a, uint64_t i,
                     struct entry *ret) {
    const uint8_t *p = f->bytes + sizeof *a + 16 * i;
    uint64_t name = wide_at(p), place = wide_at(p + 8);
    if (a->names > f->size || name >= f->size - a->names || a->dictionaries > f->size ||
        place > f->size - a->dictionaries || f->size - a->dictionaries - place < 8)
        return false;
    ret->name = (const char *)f->bytes + a->names + name;
    if (!memchr(ret->name, '\0', f->size - a->names - name))
        return false;
    ret->bytes = f->bytes + a->dictionaries + place + 8;
    uint64_t size = wide_at(ret->bytes - 8);
    ret->size = (size_t)size;
    return size <= f->size - a->dictionaries - place - 8;
}

/* Of an archive with COUNT entries, those that are parents, or those that are not. */
static int add_entries(struct ctf_reader *reader, const struct ctf_archive *a, bool parents,
                       struct err *err) {
    const struct dictionary *parent =
        parents || !reader->dictionaries.count ? NULL : reader->dictionaries.at[0];
    struct entry e;
    for (uint64_t i = 0; i < a->count; i++) {
        if (!entry_at(&reader->file, a, i, &e))
            return corrupt(err, "an entry of the archive is not within it");
        if ((strcmp(e.name, ".ctf") == 0) != parents)
            continue;
        int rc = add_dictionary(reader, e.bytes, e.size, parent, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_archive(struct ctf_reader *reader, struct err *err) {
    struct ctf_archive a;
    const struct ctf_file *f = &reader->file;
    if (f->size < sizeof a)
        return corrupt(err, "it is shorter than an archive's header");
    memcpy(&a, f->bytes, sizeof a);
    if (a.count > (f->size - sizeof a) / 16)
        return corrupt(err, "the archive has fewer entries than it claims");
    int rc = add_entries(reader, &a, true, err);
    return rc < 0 ? rc : add_entries(reader, &a, false, err);
}

/* ---- names of functions and variables ---- */

static void add_symbol(struct type_set *to, const char *name, type_id type, bool function) {
    if (*name && type)
        ARRAY_PUSH(&to->symbols, ((struct type_symbol){name, type, function}));
}

static void add_named(const struct dictionary *d, struct section types, struct section names,
                      bool function, struct type_set *to) {
    size_t count = (types.end - types.start) / 4;
    if (count > (names.end - names.start) / 4)
        count = (names.end - names.start) / 4;
    for (size_t i = 0; i < count; i++)
        add_symbol(to, name_at(d, word_at(d->bytes + names.start + 4 * i)),
                   type_of(d, word_at(d->bytes + types.start + 4 * i)), function);
}

static int by_name(const void *a, const void *b) {
    const struct type_symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (int)x->function - (int)y->function;
}

/* A variable that is an object, too, is named twice. */
static void leave_out_doubles(struct type_set *set) {
    struct type_symbol *at = set->symbols.at;
    size_t kept = 0;
    if (set->symbols.count)
        qsort(at, set->symbols.count, sizeof *at, by_name);
    for (size_t i = 0; i < set->symbols.count; i++)
        if (!kept || by_name(&at[kept - 1], &at[i]) != 0)
            at[kept++] = at[i];
    set->symbols.count = kept;
}

static void read_symbols(const struct dictionary *d, struct type_set *to) {
    const struct ctf_header *h = &d->header;
    const struct section objects = {h->objects, h->functions};
    const struct section functions = {h->functions, h->object_names};
    add_named(d, objects, (struct section){h->object_names, h->function_names}, false, to);
    if (h->flags & CTF_NEW_FUNCTIONS)
        add_named(d, functions, (struct section){h->function_names, h->variables}, true, to);
    for (size_t at = h->variables; at + 8 <= h->types; at += 8)
        add_symbol(to, name_at(d, word_at(d->bytes + at)), type_of(d, word_at(d->bytes + at + 4)),
                   false);
}

/* ---- the reader ---- */

bool ctf_is(const uint8_t *bytes, size_t size) {
    uint16_t magic;
    if (size < 8)
        return false;
    memcpy(&magic, bytes, sizeof magic);
    return magic == CTF_MAGIC || wide_at(bytes) == CTF_ARCHIVE_MAGIC;
}

/* Slices are parts of members. */
static bool is_slice(const struct dictionary *d, size_t i) {
    return word_at(d->bytes + d->records.at[i] + 4) >> 26 == CTF_SLICE;
}

static void give_all(const struct ctf_reader *reader, struct type_set *set) {
    for (size_t i = 0; i < reader->dictionaries.count; i++) {
        const struct dictionary *d = reader->dictionaries.at[i];
        for (size_t k = 0; k < d->numbers.count; k++)
            if (!is_slice(d, k))
                ARRAY_PUSH(&set->all, d->numbers.at[k]);
        read_symbols(d, set);
    }
    leave_out_doubles(set);
}

struct ctf_reader *ctf_read(const struct ctf_file *file, struct type_set *set, struct err *err) {
    struct ctf_reader *reader = mem_alloc(sizeof *reader);
    reader->graph = set->graph;
    reader->file = *file;
    if (!reader->file.pointer_bytes)
        reader->file.pointer_bytes = 8;
    bool archive = file->size >= 8 && wide_at(file->bytes) == CTF_ARCHIVE_MAGIC;
    int rc = archive ? read_archive(reader, err)
                     : add_dictionary(reader, file->bytes, file->size, NULL, err);
    if (rc < 0) {
        ctf_reader_free(reader);
        return NULL;
    }
    give_all(reader, set);
    return reader;
}

void ctf_reader_free(struct ctf_reader *reader) {
    if (!reader)
        return;
    for (size_t i = 0; i < reader->dictionaries.count; i++)
        dictionary_free(reader->dictionaries.at[i]);
    ARRAY_FREE(&reader->dictionaries);
    free(reader);
}

void type_set_done(struct type_set *set) {
    ARRAY_FREE(&set->all);
    ARRAY_FREE(&set->symbols);
}

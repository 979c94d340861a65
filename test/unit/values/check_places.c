/*
 * Checks places by the calling convention (places.py): reads types, calls with their values, and
 * what was written down at their entries, and compares each scalar with what a capture finds.
 *
 *   check-places x86_64|aarch64|arm-hard|arm-soft [old-clang] < LINES
 */
#include <stdio.h>

#include "base/mem.h"
#include "values/access.h"
#include "values/run.h"
#include "values/shape.h"

enum { MOST_TYPES = 100000, MOST_ARGUMENTS = 32, MOST_IMAGE = 16384 };

struct dump { /* as in places.py */
    uint64_t registers[16];
    uint8_t vectors[16][16], x87[2][16];
    uint64_t stack_pointer;
    uint8_t stack[8192];
};
struct image {
    type_id type;
    uint8_t bytes[MOST_IMAGE];
    size_t size;
};
struct checker {
    enum abi abi;
    struct types *types;
    type_id ids[MOST_TYPES];
    size_t count, checked, wrong, unknown;
    type_id result;
    bool varargs;
    struct image arguments[MOST_ARGUMENTS];
    size_t argument_count, arguments_left;
    bool is_result, clang;
    struct dump dump;
};

static size_t read_hex(const char *text, uint8_t *ret, size_t room) {
    size_t n = 0;
    for (unsigned byte; n < room && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
        ret[n] = (uint8_t)byte;
    return n;
}

static enum type_kind kind_of(const char *word) {
    static const char *const words[] = {
        [TYPE_INTEGER] = "integer", [TYPE_FLOAT] = "float",   [TYPE_POINTER] = "pointer",
        [TYPE_ARRAY] = "array",     [TYPE_STRUCT] = "struct", [TYPE_UNION] = "union",
        [TYPE_ENUM] = "enum"};
    for (unsigned i = 1; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return TYPE_UNKNOWN;
}

static uint32_t flags_of(const char *words) {
    return (strstr(words, "signed") ? TYPE_SIGNED : 0) |
           (strstr(words, "boolean") ? TYPE_BOOLEAN : 0) |
           (strstr(words, "complex") ? TYPE_COMPLEX : 0) |
           (strstr(words, "vector") ? TYPE_VECTOR : 0);
}

/* The type that is being read: its members follow it. */
static struct type pending;
static ARRAY(struct type_member) members;

static void end_type(struct checker *c) {
    if (!pending.kind)
        return;
    pending.members = members.at;
    pending.count = (uint32_t)members.count;
    c->ids[++c->count] = types_add(c->types, &pending);
    pending = (struct type){0};
    for (size_t i = 0; i < members.count; i++)
        free((char *)members.at[i].name);
    members.count = 0;
}

static void read_type(struct checker *c, const char *line) {
    char kind[16], flags[64], name[64];
    unsigned long bytes;
    unsigned of, elements;
    static char kept[64];
    end_type(c);
    if (sscanf(line, "type %15s %lu %63s %u %u %63s", kind, &bytes, flags, &of, &elements, name) !=
        6)
        abort();
    strcpy(kept, strcmp(name, "-") == 0 ? "" : name);
    pending = (struct type){.kind = kind_of(kind),
                            .flags = flags_of(flags),
                            .name = kept,
                            .bytes = bytes,
                            .of = of ? c->ids[of] : 0,
                            .elements = elements};
}

static void read_member(struct checker *c, const char *line) {
    char name[64];
    unsigned type, bits;
    unsigned long at;
    if (sscanf(line, "member %63s %u %lu %u", name, &type, &at, &bits) != 4)
        abort();
    ARRAY_PUSH(
        &members,
        ((struct type_member){
            .name = mem_strdup(name), .type = c->ids[type], .bit_offset = at, .bit_size = bits}));
}

/* ---- comparing ---- */

static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    const struct dump *d = ctx;
    const uint8_t *from = v->from == FROM_REGISTER ? (const uint8_t *)&d->registers[v->reg]
                          : v->from == FROM_X87    ? d->x87[v->part]
                                                   : d->vectors[v->reg] + v->part;
    if (v->reg >= 16 || (v->from == FROM_X87 && v->part > 1))
        return false;
    memcpy(ret, from, size);
    return true;
}

static const struct image *whole; /* what an address leads to, as nothing else was written down */

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    const struct dump *d = ctx;
    if (address - d->stack_pointer < sizeof d->stack - size) {
        memcpy(ret, d->stack + (address - d->stack_pointer), size);
        return true;
    }
    return false;
}

struct comparison {
    struct checker *checker;
    const struct image *image;
    const struct abi_place *place;
    bool wrong;
};

static bool is_shifted(const struct capture_value *v) { return v->width != 0; }

/* Captures the scalar, and compares it byte by byte. */
static bool compare_leaf(void *ctx, const struct leaf *leaf) {
    struct comparison *k = ctx;
    struct access_context context = {k->checker->types, abi_word(k->checker->abi)};
    struct access a = access_begin(&context, k->place, k->image->type);
    struct capture_value values[32];
    struct captured captured[32];
    struct access_values list = {values, 0, 32};
    uint64_t at = leaf->bits ? leaf->bit_at / 8 : leaf->at;
    uint64_t size = leaf->bits ? (leaf->bit_at % 8 + leaf->bits + 7) / 8 : leaf->bytes;
    if (leaf->type->kind == TYPE_FLOAT && k->checker->abi == ABI_X86_64 && size % 16 == 0 &&
        !shape_is_quad(leaf->type) && strstr(leaf->type->name, "long"))
        size = 10;
    struct access_slice slice = {at, size, 0};
    if (!access_values(&context, &a, &slice, &list)) {
        k->wrong = true;
        return false;
    }
    struct capture c = {.values = values, .count = list.count};
    const struct dump *d = &k->checker->dump;
    struct capture_source source = {(void *)d, abi_word(k->checker->abi), d->stack_pointer,
                                    read_register, read_memory};
    uint8_t *store;
    capture_run(&c, &source, captured, &store);
    uint8_t found[64] = {0}, known[64] = {0};
    for (size_t i = 0; i < c.count; i++) {
        uint32_t skip = values[i].shift / 8,
                 n = is_shifted(&values[i]) ? values[i].width / 8 : values[i].bytes;
        if (captured[i].missing)
            k->wrong = true;
        else {
            memcpy(found + values[i].at, captured[i].bytes + skip, n);
            memset(known + values[i].at, 1, n);
        }
    }
    for (uint64_t i = 0; i < size; i++) {
        uint8_t mask = 0xff;
        if (leaf->bits && i == 0)
            mask = (uint8_t)(mask << leaf->bit_at % 8);
        if (leaf->bits && i == size - 1 && (leaf->bit_at + leaf->bits) % 8)
            mask &= (uint8_t)((1u << (leaf->bit_at + leaf->bits) % 8) - 1);
        if (!known[i] || ((found[i] ^ k->image->bytes[at + i]) & mask))
            k->wrong = true;
    }
    free(store);
    return true;
}

static void say_place(const struct abi_place *p) {
    static const char *const froms[] = {"nothing",       "register", "vector",  "stack",
                                        "stack address", "x87",      "constant"};
    printf("  missing %d, indirect %d\n", p->missing, p->indirect);
    for (unsigned i = 0; i < p->count; i++)
        printf("  %s %u part %u stack %d: bytes %u at %u\n", froms[p->piece[i].from],
               p->piece[i].reg, p->piece[i].part, p->piece[i].stack_offset, p->piece[i].bytes,
               p->piece[i].at);
}

static void compare(struct checker *c, const struct image *image, const struct abi_place *place,
                    const char *what) {
    struct comparison k = {c, image, place, false};
    c->checked++;
    whole = image;
    if (place->missing) {
        c->unknown += 1;
        return;
    }
    shape_leaves(c->types, image->type, compare_leaf, &k);
    if (!k.wrong)
        return;
    AUTO_FREE char *name = types_spell(c->types, image->type);
    c->wrong++;
    printf("%s of type %s (%zu bytes, result %u, varargs %d) is not found\n", what, name,
           image->size, c->result, c->varargs);
    say_place(place);
    const struct type *t = shape_get(c->types, image->type);
    for (uint32_t i = 0; i < t->count && t->kind != TYPE_ENUM; i++) {
        AUTO_FREE char *inner = types_spell(c->types, t->members[i].type);
        printf("    %s %s at bit %ju\n", inner, t->members[i].name,
               (uintmax_t)t->members[i].bit_offset);
    }
}

static void check(struct checker *c) {
    type_id types[MOST_ARGUMENTS];
    struct abi_place places[MOST_ARGUMENTS];
    struct abi_call call = {c->types, types, c->argument_count, c->result, c->varargs, c->clang};
    for (size_t i = 0; i < c->argument_count; i++)
        types[i] = c->arguments[i].type;
    if (c->is_result) {
        call.count = 0;
        call.varargs = false;
        call.result = c->arguments[0].type;
        abi_result(c->abi, &call, &places[0]);
        if (!places[0].indirect)
            compare(c, &c->arguments[0], &places[0], "a result");
        return;
    }
    abi_arguments(c->abi, &call, places);
    for (size_t i = 0; i < c->argument_count; i++) {
        char what[32];
        snprintf(what, sizeof what, "argument %zu", i + 1);
        compare(c, &c->arguments[i], &places[i], what);
    }
}

static void read_image(struct checker *c, const char *line) {
    struct image *image = &c->arguments[c->argument_count++];
    unsigned type;
    int at = 0;
    sscanf(line, "%*s %u %n", &type, &at);
    image->type = c->ids[type];
    image->size = read_hex(line + at, image->bytes, sizeof image->bytes);
}

static void read_line(struct checker *c, const char *line) {
    unsigned result, varargs;
    if (strncmp(line, "type ", 5) == 0) {
        read_type(c, line);
    } else if (strncmp(line, "member ", 7) == 0) {
        read_member(c, line);
    } else if (sscanf(line, "call %u %u", &result, &varargs) == 2) {
        end_type(c);
        c->result = result ? c->ids[result] : 0;
        c->varargs = varargs;
        c->argument_count = 0;
        c->is_result = false;
    } else if (strncmp(line, "argument ", 9) == 0) {
        read_image(c, line);
    } else if (strncmp(line, "result ", 7) == 0) {
        c->argument_count = 0;
        c->is_result = true;
        read_image(c, line);
    } else if (strncmp(line, "dump ", 5) == 0) {
        read_hex(line + 5, (uint8_t *)&c->dump, sizeof c->dump);
        check(c);
    }
}

int main(int argc, char **argv) {
    static const char *const names[] = {[ABI_X86_64] = "x86_64",
                                        [ABI_AARCH64] = "aarch64",
                                        [ABI_ARM_HARD] = "arm-hard",
                                        [ABI_ARM_SOFT] = "arm-soft"};
    static struct checker c;
    static char line[1 << 20];
    c.types = types_new();
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (argc > 1 && strcmp(argv[1], names[i]) == 0)
            c.abi = i;
    c.clang = argc > 2;
    while (fgets(line, sizeof line, stdin))
        read_line(&c, line);
    printf("%zu values, %zu without a known place, %zu wrong\n", c.checked, c.unknown, c.wrong);
    ARRAY_FREE(&members);
    types_free(c.types);
    return c.wrong || !c.checked;
}

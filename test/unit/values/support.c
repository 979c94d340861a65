/* Makes the types, and shows values. */
#include "support.h"

#include <elf.h>
#include <stdio.h>

#include "values/print.h"
#include "values/run.h"

static bool read_register(void *ctx, const struct capture_value *v, void *ret, size_t size) {
    struct thread *t = ctx;
    const void *from = v->from == FROM_REGISTER ? (void *)&t->registers[v->reg]
                       : v->from == FROM_X87    ? (void *)t->x87[v->part]
                                                : (void *)(t->vectors[v->reg] + v->part);
    memcpy(ret, from, size);
    return true;
}

static bool read_memory(void *ctx, uint64_t address, void *ret, size_t size) {
    struct thread *t = ctx;
    if (address < MEMORY || address + size > MEMORY + sizeof t->memory)
        return false;
    memcpy(ret, t->memory + (address - MEMORY), size);
    return true;
}

void put(struct thread *t, uint64_t address, const void *from, size_t size) {
    memcpy(t->memory + (address - MEMORY), from, size);
}

void put_word(struct thread *t, uint64_t address, uint64_t word) {
    put(t, address, &word, sizeof word);
}

static void add_enums(struct fixture *f) {
    static const struct type_value colors[] = {{"RED", 0}, {"GREEN", 1}, {"BLUE", -5}};
    static const struct type_value flags[] = {{"READ", 1}, {"WRITE", 2}, {"EXEC", 4}};
    struct type t = {.kind = TYPE_ENUM,
                     .name = "color",
                     .bytes = 4,
                     .of = f->int_,
                     .values = colors,
                     .count = 3,
                     .flags = TYPE_SIGNED};
    f->color = types_add(f->types, &t);
    t = (struct type){.kind = TYPE_ENUM, .name = "flags", .bytes = 4, .values = flags, .count = 3};
    f->flags = types_add(f->types, &t);
}

static void add_structs(struct fixture *f) {
    const struct type_member item[] = {{"id", f->int_, 0, 0, 0, 0},
                                       {"price", f->double_, 64, 0, 0, 0},
                                       {"name", f->text, 128, 0, 0, 0}};
    f->item = add_struct(f, "item", 24, 0, item, 3);
    f->item_pointer = add(f, TYPE_POINTER, "", 8, 0, f->item);
    f->item_reference = add(f, TYPE_POINTER, "", 8, TYPE_REFERENCE, f->item);
    struct type three = {.kind = TYPE_ARRAY, .name = "", .of = f->item, .elements = 3, .bytes = 72};
    const struct type_member holder[] = {{"first", f->item_pointer, 0, 0, 0, 0},
                                         {"all", types_add(f->types, &three), 64, 0, 0, 0}};
    f->holder = add_struct(f, "holder", 80, 0, holder, 2);
    const struct type_member bits[] = {
        {"low", f->int_, 0, 3, 0, 0}, {"high", f->int_, 3, 7, 0, 0}, {"on", f->bool_, 32, 0, 0, 0}};
    f->bits = add_struct(f, "bits", 8, 0, bits, 3);
    const struct type_member view[] = {{"_M_len", f->uint64, 0, 0, 0, 0},
                                       {"_M_str", f->text, 64, 0, 0, 0}};
    f->view =
        add_struct(f, "std::basic_string_view<char, std::char_traits<char> >", 16, 0, view, 2);
}

int set_up(void **state) {
    struct fixture *f = mem_alloc(sizeof *f);
    f->types = types_new();
    f->int_ = add(f, TYPE_INTEGER, "int", 4, TYPE_SIGNED, 0);
    f->uint64 = add(f, TYPE_INTEGER, "unsigned long", 8, 0, 0);
    f->int128 = add(f, TYPE_INTEGER, "__int128", 16, TYPE_SIGNED, 0);
    f->double_ = add(f, TYPE_FLOAT, "double", 8, 0, 0);
    f->float_ = add(f, TYPE_FLOAT, "float", 4, 0, 0);
    f->char_ = add(f, TYPE_INTEGER, "char", 1, TYPE_SIGNED | TYPE_CHARACTER, 0);
    f->uchar = add(f, TYPE_INTEGER, "unsigned char", 1, TYPE_CHARACTER, 0);
    f->bool_ = add(f, TYPE_INTEGER, "_Bool", 1, TYPE_BOOLEAN, 0);
    type_id wide = add(f, TYPE_INTEGER, "wchar_t", 4, TYPE_SIGNED | TYPE_CHARACTER, 0);
    f->text = add(f, TYPE_POINTER, "", 8, 0, add(f, TYPE_QUALIFIER, "", 0, TYPE_CONST, f->char_));
    f->wide_text = add(f, TYPE_POINTER, "", 8, 0, wide);
    f->void_pointer = add(f, TYPE_POINTER, "", 8, 0, 0);
    f->function_pointer = add(f, TYPE_POINTER, "", 8, 0, add(f, TYPE_FUNCTION, "", 0, 0, 0));
    add_enums(f);
    add_structs(f);
    f->signature = (struct signature){.name = "f",
                                      .parameters = f->parameters,
                                      .producer = "",
                                      .language = SOURCE_CXX,
                                      .machine = EM_X86_64,
                                      .prototyped = true,
                                      .has_places = true};
    *state = f;
    return 0;
}

int tear_down(void **state) {
    struct fixture *f = *state;
    types_free(f->types);
    free(f);
    return 0;
}

void takes(struct fixture *f, const char *name, type_id type) {
    f->parameters[f->signature.count++] = (struct parameter){.name = name, .type = type};
}

/* ---- showing ---- */

static const char *function_at(void *ctx, uint64_t address) {
    (void)ctx;
    return address == 0x401000 ? "compare" : NULL;
}

static void show_item(struct fixture *f, const struct item *item, bool json, struct words *w) {
    struct printer p = {.types = f->types, .function_at = function_at};
    const char *missing = print_missing(&p, item);
    if (json) {
        words_add(w, "{\"name\":");
        words_json_text(w, item->values[0].name);
        words_add(w, ",\"type\":");
        print_type(f->types, item, w);
        words_add(w, ",\"value\":");
        print_json(&p, item, w);
        if (missing)
            words_printf(w, ",\"missing\":\"%s\"", missing);
        words_add(w, print_is_cut(&p, item) ? ",\"cut\":true}" : "}");
    } else {
        words_printf(w, "%s=", item->values[0].name);
        print_text(&p, item, w);
    }
}

const char *show(struct fixture *f, enum event_kind kind, const char *spec, bool json) {
    struct values_request r = {.types = f->types,
                               .signature = &f->signature,
                               .abi = ABI_X86_64,
                               .kind = kind,
                               .spec = spec,
                               .strings = 16};
    struct capture c;
    struct err err = {0};
    if (values_compile(&r, &c, &err) < 0) {
        snprintf(f->shown, sizeof f->shown, "%s", err.text);
        return f->shown;
    }
    struct captured captured[CAPTURE_MOST_VALUES * 2];
    struct capture_source source = {&f->thread, 8, STACK, read_register, read_memory};
    uint8_t *store;
    capture_run(&c, &source, captured, &store);
    struct words w = {0};
    struct item item;
    for (size_t at = 0; item_next(&c, captured, &at, &item);) {
        if (w.count)
            words_add(&w, ", ");
        show_item(f, &item, json, &w);
    }
    snprintf(f->shown, sizeof f->shown, "%s", words_text(&w));
    words_done(&w);
    free(store);
    capture_done(&c);
    return f->shown;
}

const char *at_entry(struct fixture *f, const char *spec) {
    return show(f, EVENT_ENTRY, spec, false);
}
const char *at_return(struct fixture *f, const char *spec) {
    return show(f, EVENT_RETURN, spec, false);
}
const char *as_json(struct fixture *f, const char *spec) {
    return show(f, EVENT_ENTRY, spec, true);
}

void put_item(struct fixture *f, uint64_t address, int id, double price, const char *name) {
    put(&f->thread, address, &id, sizeof id);
    put(&f->thread, address + 8, &price, sizeof price);
    put_word(&f->thread, address + 16, name ? address + 0x200 : 0);
    if (name)
        put(&f->thread, address + 0x200, name, strlen(name) + 1);
}

void set_double(struct fixture *f, unsigned reg, double value) {
    memcpy(f->thread.vectors[reg], &value, sizeof value);
}

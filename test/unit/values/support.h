/*
 * A function's signature and types, registers and memory as they would be at its entry or return,
 * and what is shown of them.
 */
#pragma once

#include <string.h>

#include "base/mem.h"
#include "values/compile.h"

struct thread {
    uint64_t registers[16];
    uint8_t vectors[16][16], x87[2][16], memory[4096];
};
enum { MEMORY = 0x10000, STACK = MEMORY + 2048 };

enum { RAX = 0, RDX = 1, RCX = 2, RSI = 4, RDI = 5, R8 = 8 };

struct fixture {
    struct types *types;
    type_id int_, uint64, double_, float_, char_, bool_, uchar, int128, color, flags, item,
        item_pointer, text, wide_text, item_reference, function_pointer, holder, bits, view,
        void_pointer;
    struct thread thread;
    struct parameter parameters[8];
    struct signature signature;
    char shown[4096];
};

#define add(f, kind_, name_, bytes_, flags_, of_)                                                  \
    types_add(                                                                                     \
        (f)->types,                                                                                \
        &(struct type){                                                                            \
            .kind = (kind_), .name = (name_), .bytes = (bytes_), .flags = (flags_), .of = (of_)})
#define add_struct(f, name_, bytes_, flags_, members_, count_)                                     \
    types_add((f)->types, &(struct type){.kind = TYPE_STRUCT,                                      \
                                         .name = (name_),                                          \
                                         .bytes = (bytes_),                                        \
                                         .flags = (flags_),                                        \
                                         .members = (members_),                                    \
                                         .count = (count_)})

/* For cmocka: *STATE is a struct fixture. */
int set_up(void **state);
int tear_down(void **state);
void put(struct thread *t, uint64_t address, const void *from, size_t size);
void put_word(struct thread *t, uint64_t address, uint64_t word);
void put_item(struct fixture *f, uint64_t address, int id, double price, const char *name);
void set_double(struct fixture *f, unsigned reg, double value);
/* One parameter more. */
void takes(struct fixture *f, const char *name, type_id type);
/* What is shown, or the error. SPEC NULL: by the types. */
const char *show(struct fixture *f, enum event_kind kind, const char *spec, bool json);
const char *at_entry(struct fixture *f, const char *spec);
const char *at_return(struct fixture *f, const char *spec);
const char *as_json(struct fixture *f, const char *spec);

/*
 * Fuzzes the readers of CTF and BTF, and the writer of CTF with what they read.
 *
 *   clang -g -O1 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined fuzz/ctf_fuzz.c \
 *       src/types/{btf_read,ctf_bytes,ctf_read,ctf_write,graph,spell}.c src/base/[a-z]*.c \
 *       -lz -lzstd -lbpf -o ctf-fuzz && ./ctf-fuzz CORPUS
 *
 * With elf_run.c instead of libFuzzer it replays files: an ordinary test.
 */
#include <stdlib.h>
#include <string.h>

#include "types/btf.h"
#include "types/ctf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST_SPELLED = 2000 };

static void look_at_all(const struct type_set *set) {
    for (size_t i = 0; i < set->all.count; i++) {
        const struct type *t = types_get(set->graph, set->all.at[i]);
        if (!t->name || (t->count && !t->members && !t->values))
            abort();
        types_bytes(set->graph, set->all.at[i]);
        free(i < MOST_SPELLED ? types_spell(set->graph, set->all.at[i]) : NULL);
    }
    for (size_t i = 0; i < set->symbols.count; i++)
        if (!*set->symbols.at[i].name)
            abort();
}

/* What is written can be read. */
static void write_and_read(const struct type_set *set) {
    struct type_set again = {0};
    uint8_t *bytes = NULL;
    size_t size;
    struct err err;
    if (ctf_write(set, "", &bytes, &size, &err) < 0)
        return;
    again.graph = types_new();
    struct ctf_reader *reader =
        ctf_read(&(struct ctf_file){.bytes = bytes, .size = size}, &again, &err);
    if (!reader)
        abort();
    ctf_reader_free(reader);
    type_set_done(&again);
    types_free(again.graph);
    free(bytes);
}

static void read_ctf(const uint8_t *bytes, size_t size) {
    struct type_set set = {.graph = types_new()};
    struct err err = {0};
    struct ctf_reader *reader =
        ctf_read(&(struct ctf_file){.bytes = bytes, .size = size}, &set, &err);
    if (!reader && (!err.tag[0] || !err.text[0]))
        abort();
    if (reader) {
        look_at_all(&set);
        write_and_read(&set);
    }
    ctf_reader_free(reader);
    type_set_done(&set);
    types_free(set.graph);
}

static void read_btf(const uint8_t *bytes, size_t size) {
    struct type_set set = {.graph = types_new()};
    struct btf_reader *reader = btf_read(bytes, size, &set, NULL);
    if (reader) {
        look_at_all(&set);
        write_and_read(&set);
    }
    btf_reader_free(reader);
    type_set_done(&set);
    types_free(set.graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    uint8_t *copy = mem_resize(NULL, size + 1, 1); /* aligned as files are */
    memcpy(copy, bytes, size);
    read_ctf(copy, size);
    read_btf(copy, size);
    free(copy);
    return 0;
}

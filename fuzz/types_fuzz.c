/*
 * Fuzzes the readers of types: a file whose DWARF is damaged gives fewer types and signatures, but
 * never one that leads out of the graph.
 *
 *   clang -g -O1 -D_GNU_SOURCE -Isrc -fsanitize=fuzzer,address,undefined fuzz/types_fuzz.c \
 *       $(find src/elf src/types -name '*.c') src/base/{err,mem,log,wide,spelling,flat,file_id}.c \
 *       -ldw -lelf -liberty -lz -lzstd -llzma -o types-fuzz && ./types-fuzz CORPUS
 *
 * With elf_run.c instead of libFuzzer it replays files: an ordinary test.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "types/debug_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { MOST = 2000 }; /* types and functions that are looked at, of one input */

struct looking {
    struct types *graph;
    struct debug_types *debug;
    unsigned left;
};

static void require(bool holds) {
    if (!holds)
        abort();
}

static bool look_at_type(void *ctx, type_id id) {
    struct looking *l = ctx;
    const struct type *t = types_get(l->graph, id);
    require(t->name && (!t->count || t->members || t->values));
    require(types_get(l->graph, t->of) != NULL);
    for (uint32_t i = 0; i < t->count; i++) {
        require(t->members ? t->members[i].name != NULL : t->values[i].name != NULL);
        require(!t->members || t->members[i].type < types_count(l->graph));
    }
    free(types_spell(l->graph, id));
    types_bytes(l->graph, id);
    types_definition(l->graph, id);
    struct type_member member;
    types_member(l->graph, id, "next", &member);
    return l->left-- > 0;
}

static bool look_at_function(void *ctx, vaddr_t low_pc) {
    struct looking *l = ctx;
    struct signature s;
    if (!debug_types_signature(l->debug, low_pc, &s))
        return l->left-- > 0;
    look_at_type(ctx, s.result);
    for (size_t i = 0; i < s.count; i++) {
        require(s.parameters[i].name && s.parameters[i].place.piece_count <= PLACE_MOST_PIECES);
        require(!s.changed || s.parameters[i].place.kind != PLACE_BY_ABI);
        look_at_type(ctx, s.parameters[i].type);
        if (!l->left)
            break;
    }
    signature_done(&s);
    return l->left > 0;
}

static void look_at(const struct module *module) {
    struct err err = {0};
    struct looking l = {.graph = types_new(), .left = MOST};
    int rc = debug_types_open(module, l.graph, &l.debug, &err);
    require(rc == 0 || (rc == -err.code && err.tag[0] && err.text[0]));
    if (rc == 0) {
        debug_types_functions(l.debug, look_at_function, &l);
        l.left = MOST;
        debug_types_all(l.debug, NULL, look_at_type, &l);
        debug_types_find(l.debug, "struct item");
        debug_types_close(l.debug);
    }
    types_free(l.graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct module *module;
    AUTO_FD int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || !size || write(fd, bytes, size) != (ssize_t)size ||
        module_load_fd(fd, "fuzz", 0, &module, NULL) < 0)
        return 0;
    look_at(module);
    module_free(module);
    return 0;
}

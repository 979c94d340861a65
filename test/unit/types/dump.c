/*
 * Prints the types and signatures that src/types reads from a file, for tests that compare them
 * with another reader's:
 *
 *     dump-types FILE types       KIND NAME BYTES, then a line for each member or value
 *     dump-types FILE functions   the places of all parameters, counted by function
 *     dump-types FILE signature FUNCTION…
 *     dump-types FILE counts
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "types/debug_types.h"

static struct types *graph;
static struct debug_types *debug;

static const char *const kinds[] = {"unknown",  "integer", "float", "pointer", "array",
                                    "struct",   "union",   "enum",  "typedef", "qualifier",
                                    "function", "forward", "string"};

static bool print_type(void *ctx, type_id id) {
    (void)ctx;
    const struct type *t = types_get(graph, id);
    printf("%s %s|%ju|%x\n", kinds[t->kind], t->name, types_bytes(graph, id), t->flags);
    for (uint32_t i = 0; i < t->count; i++) {
        AUTO_FREE char *of = t->members ? types_spell(graph, t->members[i].type) : NULL;
        if (t->members)
            printf("  %ju:%u %s|%s|%x|%jd\n", t->members[i].bit_offset, t->members[i].bit_size,
                   t->members[i].name, of, t->members[i].flags, (intmax_t)t->members[i].value);
        else
            printf("  %s = %jd\n", t->values[i].name, (intmax_t)t->values[i].value);
    }
    return true;
}

static void print_place(const struct place *p) {
    static const char *const names[] = {"abi", "reg", "frame", "const", "pieces", "missing"};
    printf("%s", names[p->kind]);
    if (p->kind == PLACE_REGISTER)
        printf("%u%+jd", p->reg, (intmax_t)p->offset);
    if (p->kind == PLACE_FRAME)
        printf("%+jd", (intmax_t)p->offset);
    if (p->kind == PLACE_CONSTANT)
        printf("=%jd", (intmax_t)p->constant);
    for (int i = 0; i < p->piece_count; i++)
        printf("[%s%u%+jd,%u]", names[p->pieces[i].kind], p->pieces[i].reg,
               (intmax_t)p->pieces[i].offset, p->pieces[i].bytes);
    printf("%s%s", p->address ? "*" : "", p->whole ? "~" : "");
}

static void print_signature(vaddr_t pc, const struct signature *s) {
    AUTO_FREE char *result = types_spell(graph, s->result);
    printf("%jx %s -> %s%s%s%s", pc, s->name, result, s->varargs ? " varargs" : "",
           s->changed ? " changed" : "", s->member ? " member" : "");
    for (size_t i = 0; i < s->count; i++) {
        AUTO_FREE char *type = types_spell(graph, s->parameters[i].type);
        printf("; %s %s @", type, s->parameters[i].name);
        print_place(&s->parameters[i].place);
    }
    printf("\n");
}

static bool print_function(void *ctx, vaddr_t pc) {
    (void)ctx;
    struct signature s;
    if (debug_types_signature(debug, pc, &s)) {
        print_signature(pc, &s);
        signature_done(&s);
    }
    return true;
}

int main(int argc, char **argv) {
    struct module *module;
    struct err err = {0};
    if (argc < 3 || module_load(argv[1], MODULE_DEBUG_FILES, &module, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    graph = types_new();
    if (debug_types_open(module, graph, &debug, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (strcmp(argv[2], "types") == 0)
        debug_types_all(debug, NULL, print_type, NULL);
    else if (strcmp(argv[2], "functions") == 0)
        debug_types_functions(debug, print_function, NULL);
    bool find = strcmp(argv[2], "find") == 0;
    for (int i = 3; i < argc; i++) {
        if (find && !debug_types_find(debug, argv[i]))
            fprintf(stderr, "no type %s\n", argv[i]);
        const struct symbol *symbol = module_symbol_named(module, argv[i]);
        if (symbol)
            print_function(NULL, symbol->addr);
    }
    debug_types_close(debug);
    types_free(graph);
    module_free(module);
    return 0;
}

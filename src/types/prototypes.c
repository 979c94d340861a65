/* Reads `prototype_NAME`, a pointer to a function, and `parameters_NAME`, a struct whose members'
 * names are those of the parameters. */
#include "types/prototypes.h"

#include <string.h>

#include "base/search.h"
#include "types/dwarf_reader.h"

struct variable {
    const char *name; /* borrowed from the file */
    Dwarf_Die die;
};

struct prototypes {
    struct module *module;
    struct types *graph;
    struct debug_types *debug;
    ARRAY(struct variable) variables; /* by name */
};

char *prototypes_path(void) {
    AUTO_FREE char *program = realpath("/proc/self/exe", NULL);
    char *slash = program ? strrchr(program, '/') : NULL;
    if (slash) {
        *slash = '\0';
        AUTO_FREE char *built = mem_printf("%s/src/types/prototypes.so", program);
        if (access(built, R_OK) == 0)
            return steal(built);
    }
    return mem_strdup(SPOOR_LIBEXEC "/prototypes.so");
}

static int compare(const void *a, const void *b) {
    const struct variable *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void read_variables(struct prototypes *p) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die top, child;
    while (dwarf_get_units(p->debug->file.dwarf, unit, &unit, NULL, NULL, &top, NULL) == 0)
        for (int rc = dwarf_child(&top, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
            const char *name = dwarf_string_at(&child, DW_AT_name);
            if (dwarf_tag(&child) == DW_TAG_variable && name)
                ARRAY_PUSH(&p->variables, ((struct variable){name, child}));
        }
    if (p->variables.count)
        qsort(p->variables.at, p->variables.count, sizeof *p->variables.at, compare);
}

int prototypes_open(const char *path, struct types *graph, struct prototypes **ret,
                    struct err *err) {
    struct prototypes *p = mem_alloc(sizeof *p);
    p->graph = graph;
    int rc = module_load(path, 0, &p->module, err);
    if (rc == 0)
        rc = debug_types_open(p->module, graph, &p->debug, err);
    if (rc < 0) {
        prototypes_close(p);
        return rc;
    }
    read_variables(p);
    *ret = p;
    return 0;
}

void prototypes_close(struct prototypes *p) {
    if (!p)
        return;
    debug_types_close(p->debug);
    module_free(p->module);
    ARRAY_FREE(&p->variables);
    free(p);
}

/* The type of the variable PREFIX NAME; the unknown one if there is none. */
static const struct type *type_of(struct prototypes *p, const char *prefix, const char *name) {
    AUTO_FREE char *whole = mem_printf("%s%s", prefix, name);
    size_t i = SEARCH(k, p->variables.count, strcmp(p->variables.at[k].name, whole) < 0);
    if (i == p->variables.count || strcmp(p->variables.at[i].name, whole) != 0)
        return types_get(p->graph, 0);
    return types_get(p->graph,
                     dwarf_type_at(p->debug, &p->variables.at[i].die, DW_AT_type, SOURCE_C));
}

static void name_parameters(struct signature *s, const struct type *names) {
    enum { PREFIX = 2 }; /* "p_" */
    for (uint32_t i = 0; names->count == s->count && i < names->count; i++)
        if (strlen(names->members[i].name) > PREFIX)
            s->parameters[i].name = names->members[i].name + PREFIX;
}

bool prototypes_find(struct prototypes *p, const char *name, struct signature *ret) {
    const struct type *pointer = type_of(p, "prototype_", name);
    const struct type *function = types_get_plain(p->graph, pointer->of);
    if (pointer->kind != TYPE_POINTER || function->kind != TYPE_FUNCTION)
        return false;
    *ret = (struct signature){.name = types_name(p->graph, name),
                              .result = function->of,
                              .count = function->count,
                              .language = SOURCE_C,
                              .producer = "",
                              .machine = p->module->machine,
                              .varargs = function->flags & TYPE_VARARGS,
                              .prototyped = true};
    ret->parameters = mem_alloc((function->count + 1) * sizeof *ret->parameters);
    for (uint32_t i = 0; i < function->count; i++)
        ret->parameters[i] = (struct parameter){.name = "", .type = function->members[i].type};
    name_parameters(ret, type_of(p, "parameters_", name));
    return true;
}

size_t prototypes_count(struct prototypes *p) {
    size_t count = 0;
    for (size_t i = 0; i < p->variables.count; i++)
        count += strncmp(p->variables.at[i].name, "prototype_", 10) == 0;
    return count;
}

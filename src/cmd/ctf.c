/* spoor ctf: converts the types of a file to CTF, or shows them. */
#include "cmd/ctf.h"

#include <string.h>

#include "base/near.h"
#include "cmd/command.h"
#include "cmd/out.h"
#include "cmd/say.h"
#include "types/c_text.h"

/* ---- convert ---- */

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int write_out(const char *path, const uint8_t *bytes, size_t size) {
    struct out out;
    struct err err;
    if (out_open(&out, path, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    out_long(&out, (const char *)bytes, size);
    return out_close(&out);
}

static int convert(const struct type_file *f, const char *path, const char *output) {
    struct err err;
    AUTO_FREE uint8_t *bytes = NULL;
    size_t size;
    AUTO_FREE char *usual = mem_printf("%s.ctf", file_name(path));
    if (ctf_write(&f->set, file_name(path), &bytes, &size, &err) < 0) {
        err_prefix(&err, "%s", path);
        say_err(&err);
        return STATUS_FAILED;
    }
    return write_out(output ? output : usual, bytes, size);
}

/* ---- dump ---- */

static bool is_named(struct types *graph, type_id id, const char *wanted) {
    const struct type *t = types_get(graph, id);
    if (!*t->name)
        return false;
    if (strcmp(t->name, wanted) == 0)
        return true;
    AUTO_FREE char *spelling = types_spell(graph, id);
    return strcmp(spelling, wanted) == 0;
}

static bool consider(void *ctx, const char *name) {
    near_consider(ctx, name);
    return true;
}

static int say_none(struct type_file *f, const char *path, const char *wanted) {
    struct near_names near;
    const char *word = strchr(wanted, ' ');
    near_init(&near, word ? word + 1 : wanted);
    type_file_names(f, consider, &near);
    AUTO_FREE char *list = near_list(&near);
    say_error("%s: has no type %s%s%s%s", path, wanted, list ? " (near: " : "", list ? list : "",
              list ? ")" : "");
    near_done(&near);
    return STATUS_FAILED;
}

static void print_text(const struct type_file *f, const type_id *types, size_t count,
                       bool with_symbols) {
    static const char *const forms[] = {
        [TYPES_CTF] = "CTF", [TYPES_BTF] = "BTF", [TYPES_DWARF] = "DWARF"};
    struct c_text *text = c_text_new(f->set.graph, stdout);
    printf("/* from %s; behind members: offset, size */\n", forms[f->form]);
    for (size_t i = 0; i < count && !ferror(stdout); i++)
        c_text_type(text, types[i]);
    for (size_t i = 0; with_symbols && i < f->set.symbols.count && !ferror(stdout); i++)
        c_text_symbol(text, &f->set.symbols.at[i]);
    c_text_free(text);
}

static int dump(struct type_file *f, const char *path, const char *wanted, bool json) {
    ARRAY(type_id) found = {0};
    for (size_t i = 0; wanted && i < f->set.all.count; i++)
        if (is_named(f->set.graph, f->set.all.at[i], wanted))
            ARRAY_PUSH(&found, f->set.all.at[i]);
    const type_id *types = wanted ? found.at : f->set.all.at;
    size_t count = wanted ? found.count : f->set.all.count;
    int status = wanted && !count ? say_none(f, path, wanted) : STATUS_OK;
    if (status == STATUS_OK && json)
        ctf_print_json(f, types, count, !wanted);
    else if (status == STATUS_OK)
        print_text(f, types, count, !wanted);
    ARRAY_FREE(&found);
    return status;
}

static int usage(const char *what) {
    say_error("ctf: %s: see spoor ctf --help", what);
    return STATUS_USAGE;
}

int cmd_ctf(struct options *options, int argc, char **argv) {
    bool converts = strcmp(argv[0], "convert") == 0;
    struct type_file file;
    struct err err;
    if (!converts && strcmp(argv[0], "dump") != 0)
        return usage("give convert or dump");
    if (argc < 2)
        return usage("give a FILE");
    if (converts && argc > 2)
        return usage("convert takes one FILE");
    const char *wanted = argc > 2 ? argv[2] : NULL;
    if (type_file_open(argv[1], wanted, &file, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    int status = converts ? convert(&file, argv[1], options->export.output)
                          : dump(&file, argv[1], wanted, options->view.json);
    type_file_close(&file);
    return status;
}

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

static void put(void *ctx, const void *bytes, size_t size) { out_long(ctx, bytes, size); }

static bool forget(void *ctx, type_id *kept, size_t count) {
    return type_file_forget(ctx, kept, count);
}

static bool add_type(void *ctx, type_id id) {
    ctf_dictionary_add(ctx, id);
    return true;
}

static bool add_name(void *ctx, const struct type_symbol *symbol) {
    ctf_dictionary_name(ctx, symbol);
    return true;
}

static int write_out(struct ctf_dictionary *d, const char *name, const char *output) {
    struct out out;
    struct err err;
    if (out_open(&out, output, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    if (ctf_dictionary_write(d, file_name(name), put, &out, &err) == 0)
        return out_close(&out);
    out_abandon(&out);
    err_prefix(&err, "%s", name);
    say_err(&err);
    return STATUS_FAILED;
}

static int convert(struct type_file *f, const char *path, const char *output) {
    AUTO_FREE char *usual = mem_printf("%s.ctf", file_name(path));
    struct ctf_dictionary *d = ctf_dictionary_new(f->graph, forget, f);
    type_file_types(f, NULL, add_type, d);
    type_file_symbols(f, add_name, d);
    int status = write_out(d, path, output ? output : usual);
    ctf_dictionary_free(d);
    return status;
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

struct dumping {
    struct type_file *f;
    const char *wanted;  /* NULL: all */
    struct c_text *text; /* NULL: JSON */
    size_t count;        /* of what was printed */
};

static void begin(const struct dumping *d) {
    static const char *const forms[] = {
        [TYPES_CTF] = "CTF", [TYPES_BTF] = "BTF", [TYPES_DWARF] = "DWARF"};
    if (d->text && !d->count)
        printf("/* from %s; behind members: offset, size */\n", forms[d->f->form]);
}

/* False: nobody reads more. */
static bool end(struct dumping *d) {
    d->count++;
    if (type_file_forget(d->f, NULL, 0) && d->text)
        c_text_forget(d->text);
    return !ferror(stdout);
}

static bool dump_type(void *ctx, type_id id) {
    struct dumping *d = ctx;
    if (d->wanted && !is_named(d->f->graph, id, d->wanted))
        return true;
    begin(d);
    if (d->text)
        c_text_type(d->text, id);
    else
        ctf_print_json(d->f->graph, id, !d->count);
    return end(d);
}

static bool dump_symbol(void *ctx, const struct type_symbol *symbol) {
    struct dumping *d = ctx;
    begin(d);
    if (d->text)
        c_text_symbol(d->text, symbol);
    else
        ctf_print_json_symbol(d->f->graph, symbol, !d->count);
    return end(d);
}

static int dump(struct type_file *f, const char *path, const char *wanted, bool json) {
    struct dumping d = {f, wanted, json ? NULL : c_text_new(f->graph, stdout), 0};
    type_file_types(f, wanted, dump_type, &d);
    if (!wanted)
        type_file_symbols(f, dump_symbol, &d);
    c_text_free(d.text);
    if (wanted && !d.count)
        return say_none(f, path, wanted);
    if (json)
        ctf_print_json_end(!d.count);
    return STATUS_OK;
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
    if (type_file_open(argv[1], &file, &err) < 0) {
        say_err(&err);
        return STATUS_FAILED;
    }
    int status = converts ? convert(&file, argv[1], options->export.output)
                          : dump(&file, argv[1], wanted, options->view.json);
    type_file_close(&file);
    return status;
}

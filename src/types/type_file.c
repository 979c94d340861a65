/* Finds the types of a file, and has the reader of their form read them. */
#include "types/type_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

#include "elf/module.h"
#include "types/btf.h"
#include "types/debug_types.h"

enum { MOST_BYTES = 1 << 30 };
#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

struct type_file_source {
    struct type_set set; /* of CTF and BTF */
    uint8_t *bytes;      /* of a file */
    size_t size;
    Elf *elf;
    int fd;
    struct ctf_reader *ctf;
    struct btf_reader *btf;
    struct module *module;
    struct debug_types *dwarf;
};

/* ---- bytes ---- */

static int failed(struct err *err, const char *path) {
    return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
}

/* Files of /sys tell no size that could be mapped, so all are read. */
static int read_file(const char *path, uint8_t **ret, size_t *ret_size, struct err *err) {
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return failed(err, path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, EINVAL, "open", "%s: not a regular file", path);
    if (st.st_size > MOST_BYTES)
        return err_set(err, EFBIG, "not-ctf", "%s: too large for CTF or BTF", path);
    size_t room = (size_t)st.st_size + 1, size = 0;
    AUTO_FREE uint8_t *bytes = mem_alloc(room);
    for (ssize_t n = 1; n && size < room; size += (size_t)n) {
        n = read(fd, bytes + size, room - size);
        if (n < 0)
            return failed(err, path);
    }
    *ret = steal(bytes);
    *ret_size = size;
    return 0;
}

/* The contents of section NAME of type TYPE (SHT_NULL: any), unpacked; NULL: there is none. */
static Elf_Data *section(Elf *elf, const char *name, uint32_t type) {
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
        const char *found =
            gelf_getshdr(s, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!found || strcmp(found, name) != 0 || (type && header.sh_type != type) ||
            header.sh_type == SHT_NOBITS)
            continue;
        if (header.sh_flags & SHF_COMPRESSED && elf_compress(s, 0, 0) < 0)
            return NULL;
        Elf_Data *data = elf_rawdata(s, NULL);
        return data && data->d_buf && data->d_size ? data : NULL;
    }
    return NULL;
}

/* ---- forms ---- */

static int take_ctf(struct type_file *f, const struct ctf_file *file, struct err *err) {
    f->form = TYPES_CTF;
    f->source->ctf = ctf_read(file, &f->source->set, err);
    return f->source->ctf ? 0 : -EINVAL;
}

/* A module's numbers go on from the kernel's. */
static int take_btf(struct type_file *f, const char *path, const uint8_t *bytes, size_t size,
                    struct err *err) {
    struct type_file_source *s = f->source;
    f->form = TYPES_BTF;
    s->btf = btf_read(bytes, size, &s->set, err);
    if (!s->btf)
        s->btf = btf_read_split(path, KERNEL_TYPES, &s->set, err);
    return s->btf ? 0 : -EINVAL;
}

static struct ctf_file ctf_of(Elf *elf, const Elf_Data *data) {
    struct ctf_file file = {.bytes = data->d_buf, .size = data->d_size};
    Elf_Data *strings = section(elf, ".strtab", SHT_STRTAB);
    Elf_Data *dynamic = section(elf, ".dynstr", SHT_STRTAB);
    file.pointer_bytes = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8;
    if (strings) {
        file.strings = strings->d_buf;
        file.string_bytes = strings->d_size;
    }
    if (dynamic) {
        file.dynamic_strings = dynamic->d_buf;
        file.dynamic_string_bytes = dynamic->d_size;
    }
    return file;
}

/* ---- DWARF ---- */

/* Where types or symbols of DWARF go; one of `type` and `symbol` is NULL. */
struct seeing {
    struct type_file *f;
    bool (*type)(void *ctx, type_id id);
    bool (*symbol)(void *ctx, const struct type_symbol *symbol);
    void *ctx;
    bool more;
};

static bool see_type(void *ctx, type_id id) {
    const struct seeing *s = ctx;
    return s->type(s->ctx, id);
}

/* The type of a function, from its signature. */
static type_id function_type(struct types *graph, const struct signature *s) {
    AUTO_FREE struct type_member *parameters = mem_alloc((s->count + 1) * sizeof *parameters);
    for (size_t i = 0; i < s->count; i++)
        parameters[i] =
            (struct type_member){.name = s->parameters[i].name, .type = s->parameters[i].type};
    return types_add(graph, &(struct type){.kind = TYPE_FUNCTION,
                                           .name = "",
                                           .flags = s->varargs || !s->prototyped ? TYPE_VARARGS : 0,
                                           .of = s->result,
                                           .count = (uint32_t)s->count,
                                           .members = parameters});
}

static bool see_function(void *ctx, vaddr_t low_pc) {
    struct seeing *s = ctx;
    struct signature function;
    if (!debug_types_signature(s->f->source->dwarf, low_pc, &function))
        return true;
    const type_id id = *function.name ? function_type(s->f->graph, &function) : 0;
    const struct type_symbol symbol = {function.name, id, true};
    signature_done(&function);
    s->more = !id || s->symbol(s->ctx, &symbol);
    return s->more;
}

static bool see_variable(void *ctx, const char *name, type_id type) {
    struct seeing *s = ctx;
    s->more = s->symbol(s->ctx, &(struct type_symbol){name, type, false});
    return s->more;
}

static bool see_one(void *ctx, type_id id) {
    (void)id;
    bool *any = ctx;
    *any = true;
    return false;
}

static bool see_one_symbol(void *ctx, const struct type_symbol *symbol) {
    (void)symbol;
    return see_one(ctx, 0);
}

/* 1: it has none. */
static int take_dwarf(struct type_file *f, const char *path, struct err *err) {
    struct type_file_source *s = f->source;
    bool any = false;
    f->form = TYPES_DWARF;
    int rc = module_load(path, MODULE_DEBUG_FILES, &s->module, err);
    if (rc == 0)
        rc = debug_types_open(s->module, f->graph, &s->dwarf, err);
    if (rc < 0)
        return rc;
    type_file_types(f, NULL, see_one, &any);
    if (!any)
        type_file_symbols(f, see_one_symbol, &any);
    return any ? 0 : 1;
}

/* ---- what is in it ---- */

void type_file_types(struct type_file *f, const char *wanted, bool (*see)(void *ctx, type_id id),
                     void *ctx) {
    const struct type_set *set = &f->source->set;
    struct seeing s = {.f = f, .type = see, .ctx = ctx};
    if (f->form == TYPES_DWARF)
        debug_types_all(f->source->dwarf, wanted, see_type, &s);
    for (size_t i = 0; i < set->all.count && see(ctx, set->all.at[i]); i++)
        ;
}

void type_file_symbols(struct type_file *f,
                       bool (*see)(void *ctx, const struct type_symbol *symbol), void *ctx) {
    const struct type_set *set = &f->source->set;
    struct seeing s = {.f = f, .symbol = see, .ctx = ctx, .more = true};
    if (f->form == TYPES_DWARF)
        debug_types_functions(f->source->dwarf, see_function, &s);
    if (f->form == TYPES_DWARF && s.more)
        debug_types_variables(f->source->dwarf, see_variable, &s);
    for (size_t i = 0; i < set->symbols.count && see(ctx, &set->symbols.at[i]); i++)
        ;
}

bool type_file_forget(struct type_file *f, type_id *kept, size_t count) {
    enum { MOST = 1 << 16 }; /* 60 MB */
    if (f->form != TYPES_DWARF || types_count(f->graph) < MOST + count)
        return false;
    debug_types_forget(f->source->dwarf, kept, count);
    return true;
}

/* ---- files ---- */

static int none(struct err *err, const char *path) {
    return err_set(err, ENOENT, "no-types",
                   "%s: has no types: neither CTF, BTF nor DWARF, nor a debug file", path);
}

/* 1: the ELF file has neither CTF nor BTF. */
static int take_sections(struct type_file *f, const char *path, struct err *err) {
    Elf *elf = f->source->elf;
    Elf_Data *data = section(elf, ".ctf", SHT_NULL);
    if (data) {
        struct ctf_file file = ctf_of(elf, data);
        return take_ctf(f, &file, err);
    }
    data = section(elf, ".BTF", SHT_NULL);
    return data ? take_btf(f, path, data->d_buf, data->d_size, err) : 1;
}

static int take_elf(struct type_file *f, const char *path, struct err *err) {
    struct type_file_source *s = f->source;
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0)
        return failed(err, path);
    elf_version(EV_CURRENT);
    s->elf = elf_begin(s->fd, ELF_C_READ, NULL);
    if (!s->elf || elf_kind(s->elf) != ELF_K_ELF)
        return err_set(err, EINVAL, "not-elf", "%s: is neither an ELF file, nor CTF, nor BTF",
                       path);
    int rc = take_sections(f, path, err);
    if (rc < 0 && err)
        err_prefix(err, "%s", path);
    if (rc <= 0)
        return rc;
    struct err why;
    rc = take_dwarf(f, path, &why);
    if (rc == 1)
        return err_set(err, ENOENT, "no-types",
                       "%s: has no types: there are none in its DWARF, which may be damaged", path);
    if (rc < 0 && strcmp(why.tag, "no-debug-info") == 0)
        return none(err, path);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

/* 1: the file's own first bytes are not those of CTF or BTF. */
static int take_raw(struct type_file *f, const char *path, struct err *err) {
    struct type_file_source *s = f->source;
    uint8_t head[64] = {0};
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return failed(err, path);
    ssize_t size = read(fd, head, sizeof head);
    bool ctf = size > 0 && ctf_is(head, (size_t)size), btf = size > 0 && btf_is(head, (size_t)size);
    if (!ctf && !btf)
        return 1;
    int rc = read_file(path, &s->bytes, &s->size, err);
    if (rc < 0)
        return rc;
    rc = ctf ? take_ctf(f, &(struct ctf_file){.bytes = s->bytes, .size = s->size}, err)
             : take_btf(f, path, s->bytes, s->size, err);
    if (rc < 0 && err)
        err_prefix(err, "%s", path);
    return rc;
}

int type_file_open(const char *path, struct type_file *ret, struct err *err) {
    *ret = (struct type_file){.graph = types_new(), .source = mem_alloc(sizeof *ret->source)};
    ret->source->fd = -1;
    ret->source->set.graph = ret->graph;
    int rc = take_raw(ret, path, err);
    if (rc == 1)
        rc = take_elf(ret, path, err);
    if (rc < 0)
        type_file_close(ret);
    return rc;
}

void type_file_names(struct type_file *f, bool (*see)(void *ctx, const char *name), void *ctx) {
    if (f->form == TYPES_DWARF) {
        debug_types_names(f->source->dwarf, see, ctx);
        return;
    }
    const struct type_set *set = &f->source->set;
    for (size_t i = 0; i < set->all.count; i++)
        if (!see(ctx, types_get(f->graph, set->all.at[i])->name))
            return;
}

void type_file_close(struct type_file *f) {
    struct type_file_source *s = f->source;
    if (!s)
        return;
    ctf_reader_free(s->ctf);
    btf_reader_free(s->btf);
    debug_types_close(s->dwarf);
    module_free(s->module);
    if (s->elf)
        elf_end(s->elf);
    if (s->fd >= 0)
        close(s->fd);
    free(s->bytes);
    type_set_done(&s->set);
    free(s);
    types_free(f->graph);
    *f = (struct type_file){0};
}

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
    uint8_t *bytes; /* of a file */
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
    f->source->ctf = ctf_read(file, &f->set, err);
    return f->source->ctf ? 0 : -EINVAL;
}

/* A module's numbers go on from the kernel's. */
static int take_btf(struct type_file *f, const char *path, const uint8_t *bytes, size_t size,
                    struct err *err) {
    struct type_file_source *s = f->source;
    f->form = TYPES_BTF;
    s->btf = btf_read(bytes, size, &f->set, err);
    if (!s->btf)
        s->btf = btf_read_split(path, KERNEL_TYPES, &f->set, err);
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

static bool gather_type(void *ctx, type_id id) {
    struct type_file *f = ctx;
    ARRAY_PUSH(&f->set.all, id);
    return true;
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

static bool gather_function(void *ctx, vaddr_t low_pc) {
    struct type_file *f = ctx;
    struct signature s;
    if (!debug_types_signature(f->source->dwarf, low_pc, &s))
        return true;
    type_id id = *s.name ? function_type(f->set.graph, &s) : 0;
    if (id)
        ARRAY_PUSH(&f->set.symbols,
                   ((struct type_symbol){types_name(f->set.graph, s.name), id, true}));
    signature_done(&s);
    return true;
}

static bool gather_variable(void *ctx, const char *name, type_id type) {
    struct type_file *f = ctx;
    ARRAY_PUSH(&f->set.symbols,
               ((struct type_symbol){types_name(f->set.graph, name), type, false}));
    return true;
}

static int take_dwarf(struct type_file *f, const char *path, const char *wanted, struct err *err) {
    struct type_file_source *s = f->source;
    f->form = TYPES_DWARF;
    int rc = module_load(path, MODULE_DEBUG_FILES, &s->module, err);
    if (rc == 0)
        rc = debug_types_open(s->module, f->set.graph, &(struct debug_options){0}, &s->dwarf, err);
    if (rc < 0)
        return rc;
    debug_types_all(s->dwarf, wanted, gather_type, f);
    if (wanted)
        return 0;
    debug_types_functions(s->dwarf, gather_function, f);
    debug_types_variables(s->dwarf, gather_variable, f);
    return 0;
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

static int take_elf(struct type_file *f, const char *path, const char *wanted, struct err *err) {
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
    rc = take_dwarf(f, path, wanted, &why);
    if (rc < 0 && strcmp(why.tag, "no-debug-info") == 0)
        return none(err, path);
    if (rc < 0 && err)
        *err = why;
    return rc == 0 && !wanted && !f->set.all.count && !f->set.symbols.count ? none(err, path) : rc;
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

int type_file_open(const char *path, const char *wanted, struct type_file *ret, struct err *err) {
    *ret = (struct type_file){.set.graph = types_new(), .source = mem_alloc(sizeof *ret->source)};
    ret->source->fd = -1;
    int rc = take_raw(ret, path, err);
    if (rc == 1)
        rc = take_elf(ret, path, wanted, err);
    if (rc < 0)
        type_file_close(ret);
    return rc;
}

void type_file_names(struct type_file *f, bool (*see)(void *ctx, const char *name), void *ctx) {
    if (f->form == TYPES_DWARF) {
        debug_types_names(f->source->dwarf, see, ctx);
        return;
    }
    for (size_t i = 0; i < f->set.all.count; i++)
        if (!see(ctx, types_get(f->set.graph, f->set.all.at[i])->name))
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
    free(s);
    type_set_done(&f->set);
    types_free(f->set.graph);
    *f = (struct type_file){0};
}

/* Opens the file that has a module's DWARF, and its supplementary file (dwz: .gnu_debugaltlink). */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/log.h"
#include "elf/debugfile.h"
#include "types/dwarf_reader.h"
#include "types/unpacked.h"

/* ---- one file ---- */

/* Opens the DWARF of IMAGE. libelf does not write into memory that has no compressed sections. */
static bool open_image(struct dwarf_file *f, const struct image *image) {
    const uint8_t *bytes = image->bytes;
    size_t size = image->size;
    if (unpacked_is_needed(image))
        bytes = f->unpacked = unpacked_make(image, &size);
    f->mapped = image->mapped && !f->unpacked ? bytes : NULL;
    f->mapped_size = size;
    f->elf = bytes ? elf_memory((char *)bytes, size) : NULL;
    f->dwarf = f->elf ? dwarf_begin_elf(f->elf, DWARF_C_READ, NULL) : NULL;
    return f->dwarf;
}

void dwarf_let_go(const struct dwarf_file *f) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = ((uintptr_t)f->mapped + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)f->mapped + f->mapped_size) & ~(page - 1);
    if (f->mapped && end > start)
        madvise((void *)start, end - start, MADV_DONTNEED);
}

static void close_file(struct dwarf_file *f) {
    dwarf_end(f->dwarf);
    elf_end(f->elf);
    free(f->unpacked);
    image_close(&f->image);
}

/* The path that FD was opened by; NULL: not known. To be freed. */
static char *path_of(int fd) {
    AUTO_FREE char *link = mem_printf("/proc/self/fd/%d", fd);
    return realpath(link, NULL);
}

/* Takes FD over. */
static bool open_fd(struct debug_types *d, struct dwarf_file *f, int fd) {
    AUTO_FD int owned = fd;
    return image_open_data(&f->image, owned, d->module->name, NULL) == 0 &&
           open_image(f, &f->image);
}

static int fail(const struct debug_types *d, struct err *err) {
    return err_set(err, ENOEXEC, "corrupt-debug-info", "%s: its debugging information: %s",
                   d->module->name, dwarf_errmsg(-1));
}

static int open_main(struct debug_types *d, struct err *err) {
    const struct image *own = debugfile_own_image(d->module);
    if (own)
        return open_image(&d->file, own) ? 0 : fail(d, err);
    int fd = debugfile_open_dwarf(d->module);
    if (fd < 0)
        return err_set(err, ENOENT, "no-debug-info", "%s: has no debugging information",
                       d->module->name);
    d->path = path_of(fd);
    return open_fd(d, &d->file, fd) ? 0 : fail(d, err);
}

/* ---- the supplementary file ---- */

static void open_alt(struct debug_types *d) {
    const char *name;
    const void *id;
    ssize_t size = dwelf_dwarf_gnu_debugaltlink(d->file.dwarf, &name, &id);
    if (size <= 0)
        return;
    const char *beside = d->path ? d->path : d->module->path;
    int fd = debugfile_open_alt(d->module, beside, name, id, (size_t)size);
    if (fd >= 0 && open_fd(d, &d->alt, fd))
        dwarf_setalt(d->file.dwarf, d->alt.dwarf);
    else
        log_print(1, "%s: %s is missing: some types are not known", d->module->name, name);
}

/* ---- all of it ---- */

int debug_types_open(const struct module *module, struct types *graph, struct debug_types **ret,
                     struct err *err) {
    struct debug_types *d = mem_alloc(sizeof *d);
    *d = (struct debug_types){.module = module, .graph = graph};
    d->source = (struct type_source){dwarf_read_type, dwarf_define_forward, d};
    elf_version(EV_CURRENT);
    int rc = open_main(d, err);
    if (rc < 0) {
        debug_types_close(d);
        return rc;
    }
    open_alt(d);
    dwarf_read_spans(d);
    *ret = d;
    return 0;
}

static void free_unit(struct dwarf_unit *unit) {
    ARRAY_FREE(&unit->functions);
    ARRAY_FREE(&unit->scopes);
    free(unit);
}

void debug_types_close(struct debug_types *d) {
    if (!d)
        return;
    types_detach(d->graph, &d->source);
    for (size_t i = 0; i < d->units.count; i++)
        free_unit(d->units.at[i]);
    ARRAY_FREE(&d->units);
    ARRAY_FREE(&d->spans);
    ARRAY_FREE(&d->entries);
    ARRAY_FREE(&d->definitions);
    ARRAY_FREE(&d->defining);
    free(d->by_die);
    close_file(&d->file);
    close_file(&d->alt);
    free(d->path);
    free(d);
}

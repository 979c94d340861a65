/* Opens the file that has a module's DWARF. */
#include <errno.h>

#include "elf/debugfile.h"
#include "types/dwarf_reader.h"

static int open_elf(struct debug_types *d, struct err *err) {
    const char *name = d->module->name;
    size_t size;
    const uint8_t *own = debugfile_own_bytes(d->module, &size);
    elf_version(EV_CURRENT);
    if (own) {
        /* libelf does not write there: nothing is converted. */
        d->elf = elf_memory((char *)own, size);
    } else {
        d->fd = debugfile_open_dwarf(d->module);
        if (d->fd < 0)
            return err_set(err, ENOENT, "no-debug-info", "%s: has no debugging information", name);
        d->elf = elf_begin(d->fd, ELF_C_READ_MMAP, NULL);
    }
    d->dwarf = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
    if (!d->dwarf)
        return err_set(err, ENOEXEC, "corrupt-debug-info", "%s: its debugging information: %s",
                       name, dwarf_errmsg(-1));
    return 0;
}

int debug_types_open(const struct module *module, struct types *graph,
                     const struct debug_options *options, struct debug_types **ret,
                     struct err *err) {
    struct debug_types *d = mem_alloc(sizeof *d);
    *d = (struct debug_types){.module = module, .graph = graph, .fd = -1};
    d->source = (struct type_source){dwarf_read_type, dwarf_define_forward, d};
    if (options)
        d->options = *options;
    int rc = open_elf(d, err);
    if (rc < 0) {
        debug_types_close(d);
        return rc;
    }
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
    free(d->by_die);
    dwarf_end(d->dwarf);
    elf_end(d->elf);
    if (d->fd >= 0)
        close(d->fd);
    free(d->unpacked);
    free(d);
}

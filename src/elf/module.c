/* Opens and closes modules: the order of the loader's steps, and the ownership of its results. */
#include <errno.h>
#include <fcntl.h>

#include "base/workers.h"
#include "elf/internal.h"

static struct module *module_new(const char *name) {
    struct module *module = mem_alloc(sizeof *module);
    module->path = mem_strdup(name);
    const char *slash = strrchr(module->path, '/');
    module->name = slash && slash[1] ? slash + 1 : module->path;
    module->priv = mem_alloc(sizeof *module->priv);
    module->priv->names = arena_new();
    pthread_mutex_init(&module->priv->index_lock, NULL);
    pthread_mutex_init(&module->priv->complete_lock, NULL);
    return module;
}

static enum float_abi float_abi(const Elf64_Ehdr *header) {
    if (header->e_machine != EM_ARM || EF_ARM_EABI_VERSION(header->e_flags) != EF_ARM_EABI_VER5)
        return FLOAT_ABI_UNKNOWN;
    if (header->e_flags & EF_ARM_ABI_FLOAT_HARD)
        return FLOAT_ABI_HARD;
    return header->e_flags & EF_ARM_ABI_FLOAT_SOFT ? FLOAT_ABI_SOFT : FLOAT_ABI_UNKNOWN;
}

static void read_header(struct module *module) {
    const Elf64_Ehdr *header = &module->priv->file.header;
    module->machine = header->e_machine;
    module->word_bytes = module->priv->file.sizes->word;
    module->position_independent = header->e_type == ET_DYN;
    module->float_abi = float_abi(header);
    module->entry = marks_note(module, header->e_entry, true);
    module->build_id_size = (uint8_t)layout_build_id(&module->priv->file, module->build_id);
}

static int read_outline(struct module *module, unsigned flags, struct err *err) {
    int r = layout_read_segments(module, err);
    if (r)
        return r;
    read_header(module);
    layout_read_sections(module);
    dynamic_read(module);
    if (flags & MODULE_DEBUG_FILES)
        debugfile_find(module);
    return 0;
}

enum { READ_FRAMES, READ_NAMES_AND_REFS, READ_PARTS };

/* The parts use nothing of each other. */
static void read_part(void *arg, size_t part) {
    struct module *module = arg;
    if (part == READ_FRAMES) {
        cfi_read(module);
        exidx_read(module);
    } else {
        symbols_read(module);
        refs_read(module);
    }
}

static void read_contents(struct module *module) {
    enum { SMALL = 1 << 20 }; /* it takes less time than to start a thread */
    debugfile_unpack(module);
    if (module->priv->file.size < SMALL) {
        read_part(module, READ_FRAMES);
        read_part(module, READ_NAMES_AND_REFS);
    } else {
        workers_run(READ_PARTS, read_part, module);
    }
    refs_finish(module);
    marks_finish(module);
    plt_stubs_find(module);
    module_leave_files(module);
}

/* Only `module_free()` and this function change a module after it was opened. */
void module_complete(const struct module *module) {
    struct module_private *priv = module->priv;
    if (atomic_load(&priv->complete))
        return;
    pthread_mutex_lock(&priv->complete_lock);
    if (!atomic_load(&priv->complete))
        read_contents((struct module *)module);
    atomic_store(&priv->complete, true);
    pthread_mutex_unlock(&priv->complete_lock);
}

static int finish(struct module *module, unsigned flags, struct module **ret, struct err *err) {
    int r = read_outline(module, flags, err);
    if (r) {
        module_free(module);
        return r;
    }
    if (!(flags & MODULE_LATER))
        module_complete(module);
    *ret = module;
    return 0;
}

int module_from_image(struct image *image, const char *name, unsigned flags, struct module **ret,
                      struct err *err) {
    struct module *module = module_new(name);
    module->priv->file = *image;
    *image = (struct image){0};
    return finish(module, flags, ret, err);
}

int module_load_fd(int fd, const char *name, unsigned flags, struct module **ret, struct err *err) {
    struct module *module = module_new(name);
    module->priv->later = flags & MODULE_LATER;
    files_keep(module, MODULE_FILE, fd);
    int r = image_open(&module->priv->file, fd, name, err);
    if (r) {
        module_free(module);
        return r;
    }
    return finish(module, flags, ret, err);
}

int module_load(const char *path, unsigned flags, struct module **ret, struct err *err) {
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
    return module_load_fd(fd, path, flags, ret, err);
}

void module_leave_files(const struct module *module) {
    image_leave(&module->priv->file);
    image_leave(&module->priv->debug);
}

bool module_shares_pages(const struct module *module) { return module->priv->file.shared; }

void module_free(struct module *module) {
    if (!module)
        return;
    struct module_private *priv = module->priv;
    image_close(&priv->file);
    image_close(&priv->debug);
    arena_free(priv->names);
    pthread_mutex_destroy(&priv->complete_lock);
    pthread_mutex_destroy(&priv->index_lock);
    module_forget_files(module);
    if (priv->flat) {
        mem_unmap(priv->flat, priv->flat_size);
        priv->index = NULL;
    }
    free(priv->index);
    ARRAY_FREE(&priv->mapping);
    ARRAY_FREE(&priv->hints);
    ARRAY_FREE(&priv->found);
    free(priv);
    free(module->path);
    free(module->segments);
    free(module->sections);
    free(module->symbols);
    free(module->ranges);
    free(module->rows);
    free(module->refs);
    free(module->marks);
    free(module->exceptions);
    free(module->imports);
    free(module->patchables);
    free(module->sleds);
    free(module);
}

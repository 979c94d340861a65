/* Opens and closes modules: the order of the loader's steps, and the ownership of its results. */
#include <errno.h>
#include <fcntl.h>

#include "elf/internal.h"

static struct module *module_new(const char *name) {
    struct module *module = mem_alloc(sizeof *module);
    module->path = mem_strdup(name);
    const char *slash = strrchr(module->path, '/');
    module->name = slash && slash[1] ? slash + 1 : module->path;
    module->priv = mem_alloc(sizeof *module->priv);
    module->priv->names = arena_new();
    pthread_mutex_init(&module->priv->index_lock, NULL);
    return module;
}

static void read_header(struct module *module) {
    const Elf64_Ehdr *header = &module->priv->file.header;
    module->machine = header->e_machine;
    module->word_bytes = module->priv->file.sizes->word;
    module->position_independent = header->e_type == ET_DYN;
    module->entry = marks_note(module, header->e_entry, true);
    module->build_id_size = (uint8_t)layout_build_id(&module->priv->file, module->build_id);
}

int module_from_image(struct image *image, const char *name, unsigned flags, struct module **ret,
                      struct err *err) {
    struct module *module = module_new(name);
    module->priv->file = *image;
    *image = (struct image){0};
    int r = layout_read_segments(module, err);
    if (r) {
        module_free(module);
        return r;
    }
    read_header(module);
    layout_read_sections(module);
    dynamic_read(module);
    if (flags & MODULE_DEBUG_FILES)
        debugfile_find(module);
    symbols_read(module);
    cfi_read(module);
    exidx_read(module);
    refs_read(module);
    marks_finish(module);
    stubs_find(module);
    *ret = module;
    return 0;
}

int module_load_fd(int fd, const char *name, unsigned flags, struct module **ret, struct err *err) {
    struct image image;
    int r = image_open(&image, fd, name, err);
    return r ? r : module_from_image(&image, name, flags, ret, err);
}

int module_load(const char *path, unsigned flags, struct module **ret, struct err *err) {
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
    return module_load_fd(fd, path, flags, ret, err);
}

void module_free(struct module *module) {
    if (!module)
        return;
    struct module_private *priv = module->priv;
    image_close(&priv->file);
    image_close(&priv->debug);
    arena_free(priv->names);
    pthread_mutex_destroy(&priv->index_lock);
    free(priv->index);
    ARRAY_FREE(&priv->mapping);
    ARRAY_FREE(&priv->hints);
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

/*
 * Finds the symbols of a stripped program, as GDB does ("Debugging Information in Separate
 * Files"): by build ID and by .gnu_debuglink below /usr/lib/debug and beside the program, in the
 * program's .gnu_debugdata, and last from debuginfod, which costs a download. A candidate must have
 * the program's build ID or the checksum of .gnu_debuglink.
 */
#include "elf/debuginfod.h"

#include <fcntl.h>
#include <stdio.h>
#include <zlib.h>

#include "base/log.h"
#include "elf/debugfile.h"
#include "elf/internal.h"
#include "elf/unpack.h"

#define DEBUG_ROOT "/usr/lib/debug"

struct link { /* .gnu_debuglink: a file name, padded to 4 bytes, and a checksum */
    const char *name;
    uint32_t crc;
};

static bool read_link(const struct image *file, struct link *ret) {
    uint32_t index = image_find_section(file, ".gnu_debuglink", SHT_PROGBITS);
    if (!index)
        return false;
    Elf64_Shdr sh = image_section(file, index);
    const uint8_t *bytes = image_section_bytes(file, &sh);
    const uint8_t *nul = bytes ? memchr(bytes, 0, sh.sh_size) : NULL;
    size_t at = nul ? ((size_t)(nul - bytes) + 4) & ~(size_t)3 : 0;
    if (!at || at + 4 > sh.sh_size || strchr((const char *)bytes, '/') || nul == bytes)
        return false;
    *ret = (struct link){(const char *)bytes, LOAD(uint32_t, bytes + at)};
    return true;
}

/* Whether DEBUG was made from MODULE. LINK is NULL if no checksum is known. */
static bool belongs(const struct module *module, const struct image *debug,
                    const struct link *link) {
    uint8_t id[32];
    size_t size = layout_build_id(debug, id);
    if (debug->header.e_machine != module->machine || debug->sizes != module->priv->file.sizes)
        return false;
    if (size && module->build_id_size)
        return size == module->build_id_size && memcmp(id, module->build_id, size) == 0;
    return link && crc32_z(0, debug->bytes, debug->size) == link->crc;
}

static bool try_fd(struct module *module, int fd, const char *name, const struct link *link) {
    struct module_private *priv = module->priv;
    if (image_open(&priv->debug, fd, name, NULL) < 0)
        return false;
    if (image_find_section(&priv->debug, NULL, SHT_SYMTAB) && belongs(module, &priv->debug, link)) {
        files_keep(module, MODULE_DEBUG_FILE, fd);
        log_print(1, "%s: symbols from %s", module->name, name);
        return true;
    }
    image_close(&priv->debug);
    return false;
}

/* Frees PATH. */
static bool try_path(struct module *module, char *path, const struct link *link) {
    AUTO_FREE char *owned = path;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return fd >= 0 && try_fd(module, fd, owned, link);
}

static bool try_build_id(struct module *module) {
    char hex[2 * sizeof module->build_id + 1] = "";
    for (size_t i = 0; i < module->build_id_size; i++)
        snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
    return module->build_id_size > 1 &&
           try_path(module, mem_printf(DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2), NULL);
}

static bool try_link(struct module *module) {
    struct link link;
    AUTO_FREE char *real = realpath(module->path, NULL);
    if (!real || !read_link(&module->priv->file, &link))
        return false;
    *strrchr(real, '/') = '\0'; /* the directory; "" for the root */
    return try_path(module, mem_printf("%s/%s", real, link.name), &link) ||
           try_path(module, mem_printf("%s/.debug/%s", real, link.name), &link) ||
           try_path(module, mem_printf(DEBUG_ROOT "%s/%s", real, link.name), &link);
}

static bool try_debugdata(struct module *module) {
    struct module_private *priv = module->priv;
    uint32_t index = image_find_section(&priv->file, ".gnu_debugdata", SHT_PROGBITS);
    if (!index)
        return false;
    Elf64_Shdr sh = image_section(&priv->file, index);
    const uint8_t *packed = image_section_bytes(&priv->file, &sh);
    size_t size = 0;
    uint8_t *bytes = packed ? unpack_xz(packed, sh.sh_size, &size) : NULL;
    if (!bytes || image_adopt(&priv->debug, bytes, size, ".gnu_debugdata", NULL) < 0)
        return false;
    if (priv->debug.sizes == priv->file.sizes)
        return true;
    image_close(&priv->debug);
    return false;
}

static bool try_debuginfod(struct module *module) {
    if (!module->build_id_size)
        return false;
    AUTO_FD int fd = debuginfod_open(module->build_id, module->build_id_size, module->name);
    return fd >= 0 && try_fd(module, fd, "debuginfod", NULL);
}

void debugfile_find(struct module *module) {
    struct module_private *priv = module->priv;
    if (image_find_section(&priv->file, NULL, SHT_SYMTAB))
        return;
    module->has_debug_file = try_build_id(module) || try_link(module);
    priv->packed =
        !module->has_debug_file && image_find_section(&priv->file, ".gnu_debugdata", SHT_PROGBITS);
    if (!module->has_debug_file && !priv->packed)
        module->has_debug_file = try_debuginfod(module);
}

void debugfile_unpack(struct module *module) {
    struct module_private *priv = module->priv;
    if (!priv->packed)
        return;
    module->has_debug_file = try_debugdata(module);
    priv->unsettled = !module->has_debug_file && try_debuginfod(module);
    module->has_debug_file |= priv->unsettled;
}

/* ---- DWARF ---- */

static bool has_dwarf(const struct image *image) {
    return image_find_section(image, ".debug_info", SHT_PROGBITS) ||
           image_find_section(image, ".zdebug_info", SHT_PROGBITS);
}

const struct image *debugfile_own_image(const struct module *module) {
    return has_dwarf(&module->priv->file) ? &module->priv->file : NULL;
}

/* FD, if it has the DWARF of MODULE; else closes it and returns −1. */
static int check_dwarf(const struct module *module, int fd, const struct link *link) {
    struct image image;
    if (fd < 0)
        return -1;
    bool good = image_open(&image, fd, module->name, NULL) == 0;
    if (good) {
        good = has_dwarf(&image) && belongs(module, &image, link);
        image_close(&image);
    }
    if (good)
        return fd;
    close(fd);
    return -1;
}

/* Frees PATH. */
static int open_dwarf(const struct module *module, char *path, const struct link *link) {
    AUTO_FREE char *owned = path;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    return check_dwarf(module, fd, link);
}

static int open_linked_dwarf(const struct module *module) {
    struct link link;
    AUTO_FREE char *real = realpath(module->path, NULL);
    if (!real || !read_link(&module->priv->file, &link))
        return -1;
    *strrchr(real, '/') = '\0'; /* the directory; "" for the root */
    int fd = open_dwarf(module, mem_printf("%s/%s", real, link.name), &link);
    if (fd < 0)
        fd = open_dwarf(module, mem_printf("%s/.debug/%s", real, link.name), &link);
    if (fd < 0)
        fd = open_dwarf(module, mem_printf(DEBUG_ROOT "%s/%s", real, link.name), &link);
    return fd;
}

/* The path below DEBUG_ROOT that files with the build ID have. */
static char *id_path(const uint8_t *id, size_t size) {
    char hex[2 * 32 + 1] = "";
    for (size_t i = 0; i < size && i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    return mem_printf(DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

int debugfile_open_dwarf(const struct module *module) {
    int fd = -1;
    if (module->build_id_size > 1)
        fd = open_dwarf(module, id_path(module->build_id, module->build_id_size), NULL);
    if (fd < 0)
        fd = open_linked_dwarf(module);
    if (fd < 0 && module->build_id_size)
        fd = check_dwarf(
            module, debuginfod_open(module->build_id, module->build_id_size, module->name), NULL);
    return fd;
}

/* ---- supplementary files ---- */

/* Frees PATH. */
static int open_with_id(char *path, const uint8_t *id, size_t size) {
    AUTO_FREE char *owned = path;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct image image;
    uint8_t own[32];
    if (fd < 0 || image_open_data(&image, fd, owned, NULL) < 0)
        return -1;
    bool same = layout_build_id(&image, own) == size && memcmp(own, id, size) == 0;
    image_close(&image);
    if (!same)
        return -1;
    int kept = fd;
    fd = -1;
    return kept;
}

int debugfile_open_alt(const struct module *module, const char *beside, const char *name,
                       const uint8_t *id, size_t id_size) {
    AUTO_FREE char *real = realpath(beside, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    if (id_size < 2 || id_size > 32)
        return -1;
    int fd = open_with_id(id_path(id, id_size), id, id_size);
    if (slash)
        *slash = '\0';
    if (fd < 0 && name[0] == '/')
        fd = open_with_id(mem_strdup(name), id, id_size);
    else if (fd < 0 && slash)
        fd = open_with_id(mem_printf("%s/%s", real, name), id, id_size);
    return fd < 0 ? debuginfod_open(id, id_size, module->name) : fd;
}

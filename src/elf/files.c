/* Identifies the files of a module. */
#include "elf/files.h"

#include <fcntl.h>

#include "base/workers.h"
#include "elf/internal.h"

/* Beyond FD_MOST, descriptors are left to the tool's other needs. */
enum { FD_LEAST = 3, FD_MOST = 400, SECTIONS_MOST = 512 };

/* Others may change a mapped file without a trace in its ctime. */
static bool is_trusted(const struct stat *st) {
    bool group_is_own = st->st_gid == 0 || st->st_gid == getegid();
    return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & S_IWOTH) &&
           (group_is_own || !(st->st_mode & S_IWGRP));
}

void files_keep(struct module *module, enum module_file which, int fd) {
    struct module_private *priv = module->priv;
    struct stat st;
    if (!priv->later || fstat(fd, &st) < 0)
        return;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);
    if (copy > FD_MOST)
        close(copy);
    if (copy < 0 || copy > FD_MOST)
        return;
    priv->kept[which].fd = copy;
    priv->kept[which].id = file_id_of(&st);
    priv->kept[which].trusted = is_trusted(&st);
}

bool module_file_id(const struct module *module, enum module_file which, struct file_id *ret) {
    *ret = module->priv->kept[which].id;
    return module->priv->kept[which].fd;
}

/* FRESH_TOO: fresh files count as unchanged. */
static bool files_are_same(const struct module *module, bool fresh_too) {
    const struct module_private *priv = module->priv;
    bool same = priv->kept[MODULE_FILE].fd && !priv->unsettled;
    for (int i = 0; same && i < MODULE_FILES; i++) {
        struct stat st;
        if (!priv->kept[i].fd)
            continue;
        bool there = fstat(priv->kept[i].fd, &st) == 0;
        struct file_id now = there ? file_id_of(&st) : (struct file_id){0};
        same = there &&
               ((fresh_too && priv->kept[i].id.fresh) || file_id_is_same(&now, &priv->kept[i].id));
    }
    return same && (priv->kept[MODULE_DEBUG_FILE].fd || !priv->debug.mapped);
}

bool module_files_are_same(const struct module *module) { return files_are_same(module, false); }

bool module_files_may_be_same(const struct module *module) { return files_are_same(module, true); }

bool module_files_are_trusted(const struct module *module) {
    bool trusted = true;
    for (int i = 0; i < MODULE_FILES; i++)
        trusted = trusted && (!module->priv->kept[i].fd || module->priv->kept[i].trusted);
    return trusted;
}

void module_forget_files(struct module *module) {
    for (int i = 0; i < MODULE_FILES; i++) {
        if (module->priv->kept[i].fd)
            close(module->priv->kept[i].fd);
        module->priv->kept[i].fd = 0;
    }
}

/* ---- contents ---- */

struct extent { /* bytes of a file */
    uint64_t start, end;
};

/* Loading reads no DWARF but .debug_frame (cfi.c). */
static bool is_unread(const struct image *image, const Elf64_Shdr *sh) {
    static const char *const kinds[] = {"info",         "str",      "line",     "loc",
                                        "ranges",       "rnglists", "abbrev",   "aranges",
                                        "types",        "pubnames", "pubtypes", "gnu_pubnames",
                                        "gnu_pubtypes", "macro",    "addr",     "names"};
    const char *name = image_section_name(image, sh);
    bool dwarf = strncmp(name, ".debug_", 7) == 0;
    if (!dwarf || sh->sh_flags & SHF_ALLOC || sh->sh_type != SHT_PROGBITS ||
        !image_section_bytes(image, sh))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(name + 7, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

static bool overlaps(const struct extent *x, uint64_t offset, uint64_t size) {
    return size && offset < x->end && x->start < offset + size;
}

/* True if something that is read lies in X, as headers may say on purpose. */
static bool is_used(const struct image *image, const struct extent *x) {
    bool used = overlaps(x, 0, image->sizes->header) ||
                overlaps(x, image->header.e_shoff, image->section_count * image->sizes->section) ||
                overlaps(x, image->header.e_phoff, image->segment_count * image->sizes->segment);
    for (uint32_t i = 0; !used && i < image->segment_count; i++) {
        Elf64_Phdr ph = image_segment(image, i);
        used = overlaps(x, ph.p_offset, ph.p_filesz);
    }
    for (uint32_t i = 1; !used && i < image->section_count; i++) {
        Elf64_Shdr sh = image_section(image, i);
        used = image_section_bytes(image, &sh) && !is_unread(image, &sh) &&
               overlaps(x, sh.sh_offset, sh.sh_size);
    }
    return used;
}

static int compare_extents(const void *a, const void *b) {
    const struct extent *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Large files are digested in pieces, on all processors. */
enum { PIECE = 1 << 20 };
struct pieces {
    const struct image *image;
    uint64_t start, end;
    uint8_t (*digests)[DIGEST_BYTES];
};

static void digest_piece(void *arg, size_t index) {
    const struct pieces *all = arg;
    const uint64_t at = all->start + (uint64_t)index * PIECE, left = all->end - at;
    const size_t size = left < PIECE ? left : PIECE;
    struct digest d;
    digest_init(&d);
    digest_add(&d, all->image->bytes + at, size);
    digest_finish(&d, all->digests[index]);
    if (all->image->mapped)
        mem_leave_file(all->image->bytes + at, size);
}

/* Adds bytes of IMAGE to D: the digests of their pieces, and their number. */
static void add_bytes(struct digest *d, const struct image *image, uint64_t start, uint64_t end) {
    const uint64_t size = end - start;
    const size_t count = (size + PIECE - 1) / PIECE;
    AUTO_FREE uint8_t(*digests)[DIGEST_BYTES] = mem_alloc(count * sizeof *digests);
    struct pieces all = {image, start, end, digests};
    workers_run(count, digest_piece, &all);
    digest_add(d, digests, count * sizeof *digests);
    digest_add(d, &size, sizeof size);
}

void module_file_digest(const struct module *module, enum module_file which, struct digest *d) {
    const struct image *image = which == MODULE_FILE ? &module->priv->file : &module->priv->debug;
    ARRAY(struct extent) unread = {0};
    for (uint32_t i = 1; i < image->section_count && image->section_count < SECTIONS_MOST; i++) {
        Elf64_Shdr sh = image_section(image, i);
        struct extent x = {sh.sh_offset, sh.sh_offset + sh.sh_size};
        if (is_unread(image, &sh) && !is_used(image, &x))
            ARRAY_PUSH(&unread, x);
    }
    if (unread.count)
        qsort(unread.at, unread.count, sizeof *unread.at, compare_extents);
    uint64_t at = 0;
    for (size_t i = 0; i < unread.count; i++) {
        add_bytes(d, image, at, at < unread.at[i].start ? unread.at[i].start : at);
        digest_add(d, &unread.at[i], sizeof unread.at[i]);
        at = unread.at[i].end > at ? unread.at[i].end : at;
    }
    add_bytes(d, image, at, image->size);
    ARRAY_FREE(&unread);
}

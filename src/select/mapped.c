/*
 * Looks for a mapped file in this order:
 *  - /proc/PID/map_files/START-END, which is the file itself. It needs CAP_CHECKPOINT_RESTORE,
 *    which a container lacks.
 *  - the name of the map, below the process's root and below spoor's, and /proc/PID/exe: if that
 *    file has the same inode or the same contents.
 *  - the open files of the process (/proc/PID/fd), such as a memfd: if one has the same inode.
 *  - the memory of the process: if the ELF headers are mapped.
 *
 * A name may belong to another file by now. The file is the mapped one if device and inode are the
 * same. Some file systems show other numbers in maps than in stat (btrfs: the device; overlayfs
 * before Linux 6.6: also the inode). There the contents decide.
 */
#include "select/mapped.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/mem.h"
#include "base/page.h"
#include "target/memory.h"

enum { BLOCK = 1 << 16 };

static bool is_same_inode(const struct stat *st, const struct map *map) {
    return map->inode && st->st_ino == map->inode && st->st_dev == map->device;
}

/* True if the memory of TID holds the contents of FD. One block is compared if the inode number is
 * the same, else all blocks. */
static bool has_contents(int fd, const struct stat *st, pid_t tid, const struct map *map) {
    int memory;
    bool same = map->inode && memory_open(tid, &memory, NULL) == 0;
    if (!same)
        return false;
    AUTO_FD int closed = memory;
    AUTO_FREE uint8_t *on_disk = mem_alloc(BLOCK), *mapped = mem_alloc(BLOCK);
    uint64_t size = map->end - map->start;
    for (uint64_t at = 0; same && at < size; at += BLOCK) {
        size_t n = size - at < BLOCK ? size - at : BLOCK;
        ssize_t got = pread(fd, on_disk, n, (off_t)(map->offset + at));
        same = got > 0 && memory_read(memory, map->start + at, mapped, n, NULL) == 0 &&
               memcmp(on_disk, mapped, (size_t)got) == 0;
        if ((size_t)got < n || st->st_ino == map->inode)
            break;
    }
    return same;
}

static bool is_mapped(int fd, const struct stat *st, pid_t tid, const struct map *map) {
    return is_same_inode(st, map) || has_contents(fd, st, tid, map);
}

/* Opens PATH if it is a regular file. Opening a device or a pipe may have effects. */
static int open_file(const char *path, struct stat *ret) {
    if (stat(path, ret) < 0 || !S_ISREG(ret->st_mode))
        return -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, ret) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_if_mapped(const char *path, pid_t tid, const struct map *map, struct stat *ret) {
    int fd = open_file(path, ret);
    if (fd >= 0 && is_mapped(fd, ret, tid, map))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Looks for MAP's file among the open files of the process: memfds have no other name. */
static int open_from_descriptors(pid_t tid, const struct map *map, struct stat *ret) {
    AUTO_FREE char *folder = mem_printf("/proc/%d/fd", tid);
    DIR *d = opendir(folder);
    int fd = -1;
    for (const struct dirent *e; d && fd < 0 && (e = readdir(d));) {
        AUTO_FREE char *path = mem_printf("%s/%s", folder, e->d_name);
        if (stat(path, ret) == 0 && is_same_inode(ret, map))
            fd = open_file(path, ret);
    }
    if (d)
        closedir(d);
    return fd;
}

int mapped_open(pid_t tid, const struct map *map, struct stat *ret) {
    AUTO_FREE char *by_map = mem_printf("/proc/%d/map_files/%jx-%jx", tid, map->start, map->end);
    AUTO_FREE char *by_root = mem_printf("/proc/%d/root%s", tid, map->path);
    AUTO_FREE char *by_exe = mem_printf("/proc/%d/exe", tid);
    AUTO_FREE char *by_deleted_name = mem_printf("/proc/%d/root%s (deleted)", tid, map->path);
    const char *const names[] = {by_root, map->path, by_exe, by_deleted_name};
    int fd = open_file(by_map, ret);
    for (size_t i = 0; i < sizeof names / sizeof *names && fd < 0; i++)
        fd = open_if_mapped(names[i], tid, map, ret);
    return fd >= 0 ? fd : open_from_descriptors(tid, map, ret);
}

int mapped_open_identified(pid_t tid, const struct map *map) {
    AUTO_FREE char *by_map = mem_printf("/proc/%d/map_files/%jx-%jx", tid, map->start, map->end);
    AUTO_FREE char *by_root = mem_printf("/proc/%d/root%s", tid, map->path);
    struct stat st;
    int fd = open_file(by_map, &st);
    if (fd >= 0)
        return fd;
    fd = open_file(by_root, &st);
    if (fd >= 0 && is_same_inode(&st, map))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool mapped_identify(pid_t tid, const struct map *map, struct stat *ret) {
    AUTO_FREE char *by_map = mem_printf("/proc/%d/map_files/%jx-%jx", tid, map->start, map->end);
    AUTO_FREE char *by_root = mem_printf("/proc/%d/root%s", tid, map->path);
    const bool found =
        stat(by_map, ret) == 0 || (stat(by_root, ret) == 0 && is_same_inode(ret, map));
    return found && S_ISREG(ret->st_mode);
}

/* ---- from memory ---- */

struct loaded_file { /* in the memory of a process */
    int memory;
    ElfW(Ehdr) header; /* traced programs have spoor's ELF class */
    ElfW(Phdr) * segments;
    struct loaded loaded;
};

/* The map of the first page of MAP's file. A file that is loaded twice has two first pages: the
 * last one below MAP is the right one. */
static const struct map *find_head(const struct maps *maps, const struct map *map) {
    const struct map *head = NULL;
    for (size_t i = 0; i < maps->list.count && maps->list.at[i].start <= map->start; i++) {
        const struct map *m = &maps->list.at[i];
        if (m->offset == 0 && map_is_same_file(m, map))
            head = m;
    }
    return head;
}

static bool read_headers(const struct map *head, struct loaded_file *r) {
    enum { MOST_SEGMENTS = 1000 };
    ElfW(Ehdr) *h = &r->header;
    uint64_t room = head->end - head->start;
    if (memory_read(r->memory, head->start, h, sizeof *h, NULL) < 0 ||
        memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != REGS_ELF_CLASS ||
        h->e_phentsize != sizeof *r->segments || h->e_phnum > MOST_SEGMENTS || h->e_phoff > room ||
        h->e_phnum * sizeof *r->segments > room - h->e_phoff)
        return false;
    size_t size = h->e_phnum * sizeof *r->segments;
    r->segments = mem_alloc(size + 1);
    return memory_read(r->memory, head->start + h->e_phoff, r->segments, size, NULL) == 0;
}

/* Finds the load bias, and the offset in the file up to which it is loaded. */
static bool measure_segments(taddr_t start, struct loaded_file *r) {
    static const uint64_t most = SIZE_MAX > UINT32_MAX ? UINT64_C(1) << 31 : 1 << 28;
    bool found = false;
    for (size_t i = 0; i < r->header.e_phnum; i++) {
        const ElfW(Phdr) *p = &r->segments[i];
        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_offset > most || p->p_filesz > most)
            return false;
        uint64_t end = (uint64_t)p->p_offset + p->p_filesz;
        if (end > r->loaded.size)
            r->loaded.size = end;
        if (!found && !page_down(p->p_offset)) {
            r->loaded.bias = start - page_down(p->p_vaddr);
            found = true;
        }
    }
    return found && r->loaded.size >= sizeof r->header;
}

static uint8_t *copy_segments(const struct loaded_file *r) {
    AUTO_FREE uint8_t *bytes = mem_alloc(r->loaded.size);
    for (size_t i = 0; i < r->header.e_phnum; i++) {
        const ElfW(Phdr) *p = &r->segments[i];
        if (p->p_type == PT_LOAD && memory_read(r->memory, r->loaded.bias + p->p_vaddr,
                                                bytes + p->p_offset, p->p_filesz, NULL) < 0)
            return NULL;
    }
    return steal(bytes);
}

/* Reads the file as far as it is loaded. Returns false if its headers are not loaded. */
static bool read_loaded(pid_t tid, const struct map *map, struct loaded *ret) {
    struct loaded_file r = {0};
    struct maps maps;
    if (maps_read(tid, &maps, NULL) < 0)
        return false;
    const struct map *head = find_head(&maps, map);
    if (head && memory_open(tid, &r.memory, NULL) == 0) {
        if (read_headers(head, &r) && measure_segments(head->start, &r))
            r.loaded.bytes = copy_segments(&r);
        close(r.memory);
    }
    free(r.segments);
    maps_done(&maps);
    *ret = r.loaded;
    return r.loaded.bytes;
}

int mapped_load(pid_t tid, const struct map *map, struct module **ret, struct err *err) {
    struct loaded loaded;
    if (read_loaded(tid, map, &loaded) &&
        module_load_mapped(&loaded, map->path, MODULE_DEBUG_FILES, ret, NULL) == 0)
        return 0;
    return err_set(err, ESTALE, "replaced",
                   "%s: was replaced on disk since it was mapped, and too little of it is in the "
                   "process's memory: restart the program to trace it",
                   map->path);
}

bool mapped_bias(const struct map *map, const struct module *module, taddr_t *ret) {
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct segment *g = &module->segments[i];
        if (g->executable && page_down(g->offset) == map->offset) {
            *ret = map->start - page_down(g->start);
            return true;
        }
    }
    return false;
}

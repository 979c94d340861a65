/* See kept.h. */
#include "summary/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/log.h"
#include "summary/kept_folder.h"
#include "summary/kept_format.h"

enum { END_BYTES = 4096 };

/* A change of any number or structure that is written needs another version. */
static const char MAGIC[8] = "spoor-s\4";

struct header {
    char magic[8];
    uint64_t sizes; /* of this program's structures */
    struct kept_key key;
    uint64_t size, contents_check; /* behind the header */
    uint64_t check;                /* of what is before it */
};
_Static_assert(sizeof(struct header) % 8 == 0, "arrays behind it are aligned");

static uint64_t structure_sizes(void) {
    const uint64_t sizes[] = {sizeof(struct kept_span),    sizeof(struct dense),
                              sizeof(struct listed),       sizeof(struct summary_call),
                              sizeof(struct summary_mark), sizeof(struct node)};
    return checksum(sizes, sizeof sizes);
}

/* ---- the trace ---- */

bool kept_key_of(const char *trace, struct kept_key *ret) {
    AUTO_FD int fd = open(trace, O_RDONLY | O_CLOEXEC);
    uint8_t end[END_BYTES];
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    off_t from = st.st_size > END_BYTES ? st.st_size - END_BYTES : 0;
    ssize_t n = pread(fd, end, sizeof end, from);
    *ret = (struct kept_key){.size = (uint64_t)st.st_size,
                             .inode = st.st_ino,
                             .mtime_s = st.st_mtim.tv_sec,
                             .mtime_ns = st.st_mtim.tv_nsec,
                             .ctime_s = st.st_ctim.tv_sec,
                             .ctime_ns = st.st_ctim.tv_nsec,
                             .end_check = checksum(end, n > 0 ? (size_t)n : 0)};
    return n > 0;
}

/* ---- reading ---- */

static bool is_own(const struct stat *st) {
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool header_is_good(const struct header *h, const struct kept_key *key, uint64_t size) {
    return memcmp(h->magic, MAGIC, sizeof MAGIC) == 0 && h->sizes == structure_sizes() &&
           memcmp(&h->key, key, sizeof *key) == 0 && h->size == size &&
           h->check == checksum(h, offsetof(struct header, check));
}

/* Whether FD is a whole file for KEY. */
static bool is_intact(int fd, const struct kept_key *key, uint64_t *ret_size) {
    struct stat st;
    struct header h;
    uint64_t check;
    if (fstat(fd, &st) < 0 || !is_own(&st) || st.st_size <= (off_t)sizeof h ||
        pread(fd, &h, sizeof h, 0) != sizeof h)
        return false;
    *ret_size = (uint64_t)st.st_size;
    return header_is_good(&h, key, *ret_size - sizeof h) &&
           kept_check(fd, sizeof h, h.size, &check) && check == h.contents_check;
}

/* Maps the SIZE bytes of FD. False: the system refuses. */
static bool map(int fd, size_t size, struct kept_file *ret) {
    uint8_t *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return false;
    *ret = (struct kept_file){at, size};
    return true;
}

/* False: FILE's contents do not fit. Then it is not mapped any more. */
static bool use(struct kept_file *file, struct pass *p) {
    struct kept_reader reader = {file->at + sizeof(struct header), file->at + file->size, false};
    if (kept_get_pass(&reader, p))
        return true;
    pass_reset(p);
    kept_unmap(file);
    return false;
}

static bool load(const char *path, const struct kept_key *key, struct pass *p,
                 struct kept_file *ret) {
    AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    uint64_t size;
    if (fd < 0)
        return false;
    if (!is_intact(fd, key, &size)) {
        log_print(1, "%s: not used: of another trace, version or user, or damaged", path);
        return false;
    }
    return map(fd, size, ret) && use(ret, p);
}

bool kept_load(const char *trace, const struct kept_key *key, struct pass *p,
               struct kept_file *ret) {
    AUTO_FREE char *beside = mem_printf("%s.idx", trace);
    AUTO_FREE char *cached = kept_folder_file(key, sizeof *key, false);
    return load(beside, key, p, ret) || (cached && load(cached, key, p, ret));
}

bool kept_change_over(struct kept_file *file, struct pass *p) {
    pass_reset(p);
    return use(file, p);
}

void kept_let_go(const struct kept_file *file) {
    if (file->at)
        madvise(file->at, file->size, MADV_DONTNEED);
}

void kept_unmap(struct kept_file *file) {
    if (file->at)
        munmap(file->at, file->size);
    *file = (struct kept_file){0};
}

/* ---- writing ---- */

static bool write_all(int fd, const struct kept_key *key, const struct pass *p) {
    struct header h = {.sizes = structure_sizes(), .key = *key};
    struct kept_writer w;
    kept_writer_begin(&w, fd, sizeof h);
    kept_put_pass(&w, p);
    if (!kept_writer_end(&w))
        return false;
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    h.size = w.written - sizeof h;
    h.contents_check = w.check;
    h.check = checksum(&h, offsetof(struct header, check));
    return pwrite(fd, &h, sizeof h, 0) == sizeof h;
}

/* Whether FD is still the file at PATH: another process may have renamed it meanwhile. */
static bool is_at(int fd, const char *path) {
    struct stat own, there;
    return fstat(fd, &own) == 0 && lstat(path, &there) == 0 && own.st_ino == there.st_ino &&
           own.st_dev == there.st_dev && is_own(&own) && own.st_nlink == 1;
}

/* 0, or -errno: nothing can be made there. One process writes, others leave it. */
static int save(const char *path, const struct kept_key *key, const struct pass *p,
                struct kept_file *ret) {
    AUTO_FREE char *part = mem_printf("%s.part", path);
    AUTO_FD int fd = open(part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_at(fd, part))
        return 0;
    bool done = fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0 && write_all(fd, key, p) &&
                rename(part, path) == 0;
    int rc = done ? 0 : -errno;
    struct stat st;
    if (!done)
        unlink(part);
    else if (fstat(fd, &st) == 0)
        map(fd, (size_t)st.st_size, ret);
    log_print(1, "%s: %s", path, done ? "written" : strerror(-rc));
    return rc;
}

void kept_save(const char *trace, const struct kept_key *key, const struct pass *p,
               struct kept_file *ret) {
    struct kept_key now;
    *ret = (struct kept_file){0};
    if (!kept_key_of(trace, &now) || memcmp(&now, key, sizeof now) != 0)
        return; /* it has changed meanwhile */
    AUTO_FREE char *beside = mem_printf("%s.idx", trace);
    if (save(beside, key, p, ret) == 0)
        return;
    AUTO_FREE char *cached = kept_folder_file(key, sizeof *key, true);
    if (cached && save(cached, key, p, ret) == 0)
        kept_folder_limit(KEPT_MOST_BYTES);
}

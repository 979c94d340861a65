/*
 * Reads and writes files of the cache. A file is a header and contents. The header has a checksum
 * of itself, and one over all blocks of FLAT_BUFFER bytes of the contents.
 */
#include "cache/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/workers.h"
#include "cache/evict.h"

static const char MAGIC[8] = "spoorpc";

struct header {
    char magic[8];
    uint64_t size; /* of the contents */
    uint8_t key[DIGEST_BYTES];
    uint64_t contents_check, check; /* the last: of what is before it */
};
_Static_assert(sizeof(struct header) % FLAT_ALIGN == 0, "arrays behind it are aligned");

static uint64_t next_check(uint64_t before, uint64_t of_block) {
    uint64_t both[2] = {before, of_block};
    return checksum(both, sizeof both);
}

/* ---- the folder ---- */

static bool is_own(const struct stat *st) {
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* NULL: there is no such place. */
static char *folder_path(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/')
        return mem_printf("%s/spoor", base);
    return home && home[0] == '/' ? mem_printf("%s/.cache/spoor", home) : NULL;
}

/* Whether the home is another user's, as under sudo: a folder made there would be of no use to him.
 */
static bool is_home_of_other(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    return stat(base && base[0] == '/' ? base : home, &st) == 0 && st.st_uid != geteuid() &&
           geteuid() == 0;
}

/* Makes the folder PATH and the one above it. */
static void make_folder(char *path) {
    char *last = strrchr(path, '/');
    if (is_home_of_other())
        return;
    if (mkdir(path, 0700) == 0 || errno != ENOENT)
        return;
    *last = '\0';
    if (last != path)
        mkdir(path, 0700);
    *last = '/';
    mkdir(path, 0700);
}

struct folder folder_open(uint64_t most_bytes) {
    struct folder f = {.fd = -1, .most_bytes = most_bytes};
    AUTO_FREE char *path = folder_path();
    struct stat st;
    if (!path)
        return f;
    make_folder(path);
    f.fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (f.fd >= 0 && fstat(f.fd, &st) == 0 && is_own(&st))
        return f;
    log_print(1, "%s: not used as a cache: %s", path,
              f.fd < 0 ? strerror(errno) : "others can write there, or own it");
    folder_close(&f);
    return f;
}

void folder_close(struct folder *f) {
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* ---- reading ---- */

static bool read_all(int fd, void *to, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t n = read(fd, (char *)to + done, count - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool header_is_good(const struct header *h, const uint8_t *key, uint64_t size) {
    return memcmp(h->magic, MAGIC, sizeof MAGIC) == 0 && h->size == size &&
           memcmp(h->key, key, DIGEST_BYTES) == 0 &&
           h->check == checksum(h, offsetof(struct header, check));
}

/* Each of the blocks of FLAT_BUFFER bytes has its own checksum, and may be checked by any thread.
 */
struct blocks {
    const uint8_t *bytes;
    size_t size;
    uint64_t *checks;
};

static void check_block(void *arg, size_t i) {
    const struct blocks *b = arg;
    const size_t at = i * FLAT_BUFFER, left = b->size - at;
    const size_t size = left < FLAT_BUFFER ? left : FLAT_BUFFER;
    mem_fetch_to_read(b->bytes + at, size);
    b->checks[i] = checksum(b->bytes + at, size);
}

static bool contents_are_good(const struct header *h, const uint8_t *bytes) {
    const size_t count = (size_t)((h->size + FLAT_BUFFER - 1) / FLAT_BUFFER);
    AUTO_FREE uint64_t *checks = mem_alloc(count * sizeof *checks);
    struct blocks blocks = {bytes, (size_t)h->size, checks};
    uint64_t check = 0;
    workers_run(count, check_block, &blocks);
    for (size_t i = 0; i < count; i++)
        check = next_check(check, checks[i]);
    return check == h->contents_check;
}

static bool map_file(int fd, const uint8_t key[DIGEST_BYTES], struct folder_file *ret) {
    struct stat st;
    struct header h;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_own(&st) ||
        st.st_size <= (off_t)sizeof h || (uint64_t)st.st_size > SIZE_MAX / 2 ||
        !read_all(fd, &h, sizeof h) || !header_is_good(&h, key, (uint64_t)st.st_size - sizeof h))
        return false;
    const size_t size = (size_t)st.st_size;
    uint8_t *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (pages == MAP_FAILED)
        return false;
    *ret = (struct folder_file){pages, size, {pages + sizeof h, pages + size}};
    if (contents_are_good(&h, pages + sizeof h))
        return true;
    mem_unmap(pages, size);
    return false;
}

bool folder_read(const struct folder *f, const char *name, const uint8_t key[DIGEST_BYTES],
                 bool used, struct folder_file *ret) {
    if (f->fd < 0)
        return false;
    AUTO_FD int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || !map_file(fd, key, ret))
        return false;
    if (used)
        futimens(fd, NULL);
    return true;
}

/* ---- writing ---- */

struct output {
    int fd;
    uint64_t check;
};

static int write_all(int fd, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t n = write(fd, (const char *)bytes + done, count - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int put_block(void *ctx, const void *bytes, size_t count) {
    struct output *out = ctx;
    out->check = next_check(out->check, checksum(bytes, count));
    return write_all(out->fd, bytes, count);
}

/* Writes the contents behind room for the header, then the header. */
static bool write_file(int fd, const uint8_t key[DIGEST_BYTES],
                       void (*write)(struct flat_writer *, void *), void *ctx) {
    struct output out = {.fd = fd};
    struct flat_writer w;
    struct header h = {0};
    if (lseek(fd, sizeof h, SEEK_SET) < 0)
        return false;
    flat_writer_init(&w, put_block, &out);
    write(&w, ctx);
    if (flat_writer_done(&w) < 0)
        return false;
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    memcpy(h.key, key, DIGEST_BYTES);
    h.size = w.size;
    h.contents_check = out.check;
    h.check = checksum(&h, offsetof(struct header, check));
    return w.size && pwrite(fd, &h, sizeof h, 0) == sizeof h;
}

void folder_write(const struct folder *f, const char *name, const uint8_t key[DIGEST_BYTES],
                  void (*write)(struct flat_writer *w, void *ctx), void *ctx) {
    static atomic_uint counter;
    char part[FOLDER_NAME_BYTES];
    if (f->fd < 0)
        return;
    snprintf(part, sizeof part, "part-%d-%u", (int)getpid(), atomic_fetch_add(&counter, 1));
    unlinkat(f->fd, part, 0); /* of a process that had this number and was killed */
    int fd = openat(f->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool done = write_file(fd, key, write, ctx);
    done = close(fd) == 0 && done && renameat(f->fd, part, f->fd, name) == 0;
    if (!done)
        unlinkat(f->fd, part, 0);
    evict(f->fd, f->most_bytes);
}

/* Drops pages of text whose file has the bytes that they are to hold, in as few calls as
 * possible. */
#include "patch/pages.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "patch/permits.h"
#include "select/mapped.h"
#include "target/memory.h"

/* Most bytes between two runs of pages: comparing so many takes less time than another call. */
enum { GAP_BYTES = 64 << 10 };

/* Reads the file from the first patch of P to the last. */
static void read_text(pid_t tid, const struct maps *maps, const struct patched *p) {
    const struct plan_code *c = p->code ? &p->code->emitted : NULL;
    const struct map *m = c && c->patch_count ? maps_at(maps, c->patches[0].at + p->bias) : NULL;
    uint8_t bytes[GAP_BYTES];
    if (!m || !m->inode)
        return;
    int fd = mapped_open_identified(tid, m);
    off_t first = (off_t)(c->patches[0].at + p->bias - m->start + m->offset);
    off_t last = first + (off_t)(c->patches[c->patch_count - 1].at - c->patches[0].at);
    for (off_t at = first; fd >= 0 && at <= last; at += (off_t)sizeof bytes)
        if (pread(fd, bytes, sizeof bytes, at) <= 0)
            break;
    if (fd >= 0)
        close(fd);
}

void pages_prefetch(const struct space *s) {
    struct maps maps;
    pid_t tid = space_thread(s);
    if (maps_read(tid, &maps, NULL) < 0)
        return;
    maps_use_former_names(&maps);
    for (size_t i = 0; i < s->modules.count; i++)
        read_text(tid, &maps, &s->modules.at[i]);
    maps_done(&maps);
}

void pages_begin(struct pages *ret, const struct space *s, pid_t caller, pid_t reader,
                 const struct maps *maps) {
    bool can = caller && s->agent && permits(s, caller, PERMIT_PAGES);
    *ret = (struct pages){
        .space = can ? s : NULL, .caller = caller, .reader = reader, .maps = maps, .fd = -1};
    if (can)
        ret->file = mem_alloc(PIECE_BYTES);
}

/* Whether RWF_NOWAIT works. File systems in memory, and overlays, do not support it (Linux up to
 * 6.18). The former have all pages in memory; of the latter pages_prefetch() has read them. */
static bool supports_nowait(int fd) {
    struct statfs system;
    uint32_t type = fstatfs(fd, &system) < 0 ? 0 : (uint32_t)system.f_type;
    return type != TMPFS_MAGIC && type != RAMFS_MAGIC && type != OVERLAYFS_SUPER_MAGIC;
}

static void open_file(struct pages *g, const struct map *m) {
    const bool open = g->map && map_is_same_file(g->map, m);
    g->map = m;
    if (open)
        return;
    if (g->fd >= 0)
        close(g->fd);
    g->fd = mapped_open_identified(g->caller, m);
    g->how = supports_nowait(g->fd) ? RWF_NOWAIT : 0;
}

/* GOT bytes of file FD up to END were read to OUT. If the file ends there, the rest of its last
 * page is zeros. Returns how many bytes OUT has then, SIZE at most. */
static size_t complete(int fd, off_t end, uint8_t *out, size_t got, size_t size) {
    struct stat st;
    size_t all = got + (page_bytes() - (size_t)end % page_bytes()) % page_bytes();
    if (all > size || fstat(fd, &st) < 0 || st.st_size != end)
        return got;
    memset(out + got, 0, all - got);
    return all;
}

/* Does not wait for bytes that are not in memory: the process is stopped. */
static size_t read_file(const struct pages *g, taddr_t start, uint8_t *out, size_t size) {
    struct iovec to = {out, size};
    off_t at = (off_t)(g->map->offset + (start - g->map->start));
    ssize_t got = g->fd < 0 ? -1 : preadv2(g->fd, &to, 1, at, g->how);
    if (got <= 0)
        return 0;
    return (size_t)got == size ? size : complete(g->fd, at + got, out, (size_t)got, size);
}

bool pages_find(struct pages *g, taddr_t start, size_t size) {
    const struct map *m = g->space ? maps_at(g->maps, start) : NULL;
    if (!m || start + size > m->end || !m->executable || m->writable || m->shared || !m->inode)
        return false;
    if (m != g->map)
        open_file(g, m);
    return true;
}

void pages_read(struct pages *g, taddr_t start, size_t size) {
    g->got = pages_find(g, start, size) ? read_file(g, start, g->file, size) : 0;
}

struct pages pages_copy(const struct pages *g, uint8_t *file) {
    struct pages copy = *g;
    copy.file = file;
    copy.fd = g->fd >= 0 ? fcntl(g->fd, F_DUPFD_CLOEXEC, 0) : -1;
    copy.map = copy.fd >= 0 ? g->map : NULL;
    return copy;
}

void pages_copy_end(const struct pages *copy) {
    if (copy->fd >= 0)
        close(copy->fd);
}

bool pages_equal_file(const struct pages *g, size_t at, const uint8_t *bytes) {
    return at + page_bytes() <= g->got && memcmp(g->file + at, bytes, page_bytes()) == 0;
}

static struct remote_call dropping(struct span run) {
    return (struct remote_call){SYS_madvise, {run.start, run.end - run.start, MADV_DONTNEED}};
}

/* Drops all runs in one series of calls, in their order; false: there is no such series. */
static bool drop_at_once(struct pages *g) {
    struct remote_step steps[PAGES_RUNS] = {0};
    for (size_t i = 0; i < g->run_count; i++)
        steps[i].call = dropping(g->runs[i]);
    if (!g->series || thread_calls(g->caller, &g->space->remote, steps, g->run_count, NULL) < 0)
        return false;
    for (size_t i = 0; i < g->run_count; i++)
        g->failed |= steps[i].result != 0;
    return true;
}

/* The kernel reads dropped pages from the file when they are next used. It refuses to drop pages
 * that are locked into memory. */
static void drop_runs(struct pages *g) {
    const bool all = g->run_count && drop_at_once(g);
    for (size_t i = 0; i < g->run_count && !all; i++) {
        const struct remote_call call = dropping(g->runs[i]);
        int64_t result = 0;
        g->failed |= thread_call(g->caller, &g->space->remote, &call, &result, NULL) < 0 || result;
    }
    g->run_count = 0;
}

/* A run that can be extended no more. */
static void end_run(struct pages *g) {
    if (g->run.end > g->run.start)
        g->runs[g->run_count++] = g->run;
    g->run = (struct span){0, 0};
    if (g->run_count == PAGES_RUNS)
        drop_runs(g);
}

void pages_flush(struct pages *g) {
    end_run(g);
    drop_runs(g);
}

/* Whether the run can be extended to PAGE: the bytes between are the file's, too. */
static bool can_extend_run(const struct pages *g, taddr_t page) {
    uint8_t file[GAP_BYTES], memory[sizeof file];
    taddr_t start = g->run.end, size = page - start;
    return page == start || page == start - page_bytes() ||
           (page > start && start > g->map->start && size <= sizeof file &&
            read_file(g, start, file, size) == size &&
            memory_read(g->space->remote.memory_fd, start, memory, size, NULL) == 0 &&
            memcmp(file, memory, size) == 0);
}

void pages_drop(struct pages *g, taddr_t page) {
    if (!can_extend_run(g, page))
        end_run(g);
    if (g->run.end == 0)
        g->run.start = page;
    g->run.end = page + page_bytes();
}

void pages_end(struct pages *g) {
    if (g->fd >= 0)
        close(g->fd);
    free(g->file);
}

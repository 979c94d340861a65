#include "session/pages.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/mapped.h"
#include "session/permits.h"
#include "target/memory.h"

enum {
    PAGE = 4096,
    CHUNK = 64 * 1024,
    NEAR = 4 * PAGE, /* pages this close are looked at together */
};

struct giving {
    const struct space *space;
    pid_t caller;
    const struct map *map;
    int fd;          /* the map's file */
    struct span run; /* of pages that hold what the file holds, not given back yet */
};

static taddr_t page_of(taddr_t addr) { return addr & ~(taddr_t)(PAGE - 1); }

/* The kernel reads from the file again when somebody comes to them. */
static void give_run(struct giving *g) {
    int64_t ignored;
    struct remote_call call = {SYS_madvise,
                               {g->run.start, g->run.end - g->run.start, MADV_DONTNEED}};
    if (g->run.end > g->run.start)
        thread_call(g->caller, &g->space->remote, &call, &ignored, NULL);
    g->run = (struct span){0, 0};
}

static void add_page(struct giving *g, taddr_t page) {
    if (page > g->run.end || page < g->run.start)
        give_run(g);
    if (g->run.end == 0)
        g->run.start = page;
    g->run.end = page + PAGE;
}

/* Whole pages [START, END) of the map, CHUNK bytes at most. */
static void look_at_chunk(struct giving *g, taddr_t start, taddr_t end) {
    uint8_t file[CHUNK], memory[CHUNK];
    size_t size = end - start;
    ssize_t got = pread(g->fd, file, size, (off_t)(g->map->offset + (start - g->map->start)));
    if (memory_read(g->space->remote.memory_fd, start, memory, size, NULL) < 0)
        return;
    for (size_t at = 0; at + PAGE <= size && (ssize_t)(at + PAGE) <= got; at += PAGE)
        if (memcmp(file + at, memory + at, PAGE) == 0)
            add_page(g, start + at);
}

/* Pages [START, END), which patches stand in. */
static void look_at(struct giving *g, const struct maps *maps, taddr_t start, taddr_t end) {
    const struct map *m = maps_at(maps, start);
    if (!m || end > m->end || !m->executable || m->writable || m->shared || !m->inode)
        return;
    if (m != g->map) {
        give_run(g);
        if (g->fd >= 0)
            close(g->fd);
        g->map = m;
        g->fd = mapped_open_surely(g->caller, m);
    }
    if (g->fd >= 0)
        look_at_chunk(g, start, end);
}

static void give_back_module(struct giving *g, const struct maps *maps, const struct patched *p) {
    const struct patch *patches = p->code->emitted.patches;
    size_t count = p->code->emitted.patch_count;
    for (size_t i = 0; i < count;) {
        taddr_t start = page_of(patches[i].at + p->bias), end = start;
        for (; i < count; i++) {
            taddr_t at = patches[i].at + p->bias, last = page_of(at + patches[i].size - 1);
            if (last + PAGE - start > CHUNK || page_of(at) > end + NEAR)
                break;
            end = last + PAGE;
        }
        look_at(g, maps, start, end);
    }
}

void pages_give_back(const struct space *s, pid_t caller) {
    struct giving giving = {.space = s, .caller = caller, .fd = -1};
    struct maps maps;
    if (!s->agent || !permits(s, caller, PERMIT_PAGES) || maps_read(caller, &maps, NULL) < 0)
        return;
    maps_use_former_names(&maps);
    for (size_t i = 0; i < s->modules.count; i++)
        if (s->modules.at[i].code)
            give_back_module(&giving, &maps, &s->modules.at[i]);
    give_run(&giving);
    if (giving.fd >= 0)
        close(giving.fd);
    maps_done(&maps);
}

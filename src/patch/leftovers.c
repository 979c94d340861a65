/* Finds what a killed spoor has left in a process by the signs, heads and logs of wire/undo.h. */
#include "patch/leftovers.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/agent.h"
#include "arch/arch.h"
#include "base/page.h"
#include "base/search.h"
#include "patch/permits.h"
#include "patch/undolog.h"
#include "target/maps.h"
#include "target/memory.h"
#include "target/status.h"
#include "unwind/sigframes.h"

enum { AGENT_BYTES = 4096 };
static const char SLAB_NAME[] = "/memfd:spoor (deleted)"; /* as the kernel shows it */

struct search {
    pid_t tid;
    int fd; /* its memory */
    struct maps maps;
    struct err *unread; /* why mapped memory could not be read; NULL: not asked */
};

static int begin(pid_t tid, struct search *ret, struct err *err) {
    ret->tid = tid;
    ret->fd = -1;
    ret->unread = NULL;
    int rc = maps_read(tid, &ret->maps, err);
    if (rc < 0)
        return rc;
    rc = memory_open(tid, &ret->fd, err);
    if (rc < 0)
        maps_done(&ret->maps);
    return rc;
}

static void end(struct search *s) {
    maps_done(&s->maps);
    if (s->fd >= 0)
        close(s->fd);
}

static bool read_at(const struct search *s, taddr_t at, void *out, size_t size) {
    return memory_read(s->fd, at, out, size, maps_at(&s->maps, at) ? s->unread : NULL) == 0;
}

/* How spoor's code is mapped: private, of no file. */
static bool is_spoor_code(const struct map *m) {
    return m && m->executable && m->readable && !m->writable && !m->shared && !m->path[0];
}

static bool is_zero(const uint8_t *bytes, size_t size) {
    while (size && !*bytes)
        bytes++, size--;
    return size == 0;
}

/* ---- the foothold ---- */

enum { FOOTHOLD_BYTES = AGENT_CALL_MOST };

static const uint8_t *call_code(void) { return agent_code() + agent_call(); }

static bool is_foothold(const struct search *s, const struct map *m, taddr_t *ret) {
    uint8_t bytes[FOOTHOLD_BYTES];
    *ret = m->end - sizeof bytes;
    return m->executable && m->path[0] == '/' &&
           memory_read(s->fd, *ret, bytes, sizeof bytes, NULL) == 0 && /* the file may be shorter */
           memcmp(bytes, call_code(), agent_call_size()) == 0;
}

static bool find_foothold(const struct search *s, taddr_t *ret, const struct map **ret_map) {
    for (size_t i = 0; i < s->maps.list.count; i++) {
        *ret_map = &s->maps.list.at[i];
        if (is_foothold(s, *ret_map, ret))
            return true;
    }
    return false;
}

/* Restores the file's bytes; writes zeros behind the file's end, where footholds are, and if the
 * file cannot be opened. */
static void erase_foothold(const struct search *s, taddr_t at, const struct map *m) {
    uint8_t bytes[FOOTHOLD_BYTES] = {0};
    AUTO_FREE char *name = mem_printf("/proc/%d/root%s", s->tid, m->path);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == m->inode &&
        pread(fd, bytes, sizeof bytes, (off_t)(m->offset + (at - m->start))) < 0)
        memset(bytes, 0, sizeof bytes);
    memory_write(s->fd, at, bytes, sizeof bytes, NULL);
}

/* ---- the agent's page ---- */

static bool is_slab(const struct map *m) {
    return m->shared && m->writable && strcmp(m->path, SLAB_NAME) == 0;
}

/* Reads the sign of slab M. Spoor has its targets' slabs mapped, too, but at other addresses. */
static bool read_sign(const struct search *s, const struct map *m, struct undo_sign *ret) {
    return is_slab(m) && m->offset == 0 && read_at(s, m->start + UNDO_SIGN_AT, ret, sizeof *ret) &&
           ret->magic == UNDO_MAGIC && ret->self == m->start;
}

static bool read_head(const struct search *s, taddr_t agent, struct undo_head *ret) {
    const struct map *m = maps_at(&s->maps, agent);
    return is_spoor_code(m) && read_at(s, agent + UNDO_AT, ret, sizeof *ret) &&
           ret->magic == UNDO_MAGIC && ret->call - agent < UNDO_AT;
}

/* The agent's page before it was written: with a foothold in place, a zero page can be nothing
 * else. */
static taddr_t find_unwritten_agent(const struct search *s) {
    uint8_t bytes[AGENT_BYTES];
    for (size_t i = 0; i < s->maps.list.count; i++) {
        const struct map *m = &s->maps.list.at[i];
        if (is_spoor_code(m) && m->end - m->start == page_bytes() &&
            read_at(s, m->start, bytes, sizeof bytes) && is_zero(bytes, sizeof bytes))
            return m->start;
    }
    return 0;
}

/* Searches for the agent's page alone, if there is no slab: at both ends of each map, with which
 * the page may have been merged. */
static taddr_t find_agent_without_slab(const struct search *s, struct undo_head *ret) {
    const taddr_t near = 16 * page_bytes();
    for (size_t i = 0; i < s->maps.list.count; i++) {
        const struct map *m = &s->maps.list.at[i];
        for (taddr_t at = m->start; is_spoor_code(m) && at < m->end; at += page_bytes()) {
            if (at - m->start == near && m->end - at > near)
                at = m->end - near;
            if (read_head(s, at, ret))
                return at;
        }
    }
    return 0;
}

static taddr_t find_agent(const struct search *s, struct undo_head *ret) {
    struct undo_sign sign;
    for (size_t i = 0; i < s->maps.list.count; i++)
        if (read_sign(s, &s->maps.list.at[i], &sign) && read_head(s, sign.agent, ret))
            return sign.agent;
    return find_agent_without_slab(s, ret);
}

static int cannot_read(const struct search *s, struct err *err) {
    return err_set(err, s->unread->code, "memory", "process %d: %s: try again", s->tid,
                   s->unread->text);
}

int leftovers_exist(pid_t tid, bool *ret, struct err *err) {
    struct search s;
    struct undo_head head;
    struct err unread = {0};
    const struct map *m;
    taddr_t at;
    int rc = begin(tid, &s, err);
    if (rc < 0)
        return rc;
    s.unread = &unread;
    *ret = find_agent(&s, &head) || find_foothold(&s, &at, &m);
    if (!*ret && unread.code)
        rc = cannot_read(&s, err);
    end(&s);
    return rc;
}

/* ---- modules ---- */

/* Whether the page at AT is an island of P, or was about to be filled. */
static bool is_island(const struct search *s, const struct patched *p, taddr_t at) {
    const struct plan_code *c = &p->code->emitted;
    const struct arch *arch = arch_host();
    uint8_t bytes[ISLAND_BYTES];
    struct insn insn;
    if (!is_spoor_code(maps_at(&s->maps, at)) || !read_at(s, at, bytes, sizeof bytes))
        return false;
    vaddr_t page = at - p->bias;
    size_t first = SEARCH(i, c->way_count, c->ways[i].at < page);
    if (first == c->way_count || c->ways[first].at - page >= ISLAND_BYTES)
        return false;
    if (is_zero(bytes, sizeof bytes))
        return true;
    vaddr_t way = c->ways[first].at;
    size_t offset = way - page;
    return arch->decode(bytes + offset, sizeof bytes - offset, way + p->bias, &insn, NULL) &&
           insn.kind == INSN_JUMP && insn.target - p->area < p->area_size;
}

static void forget_foreign_islands(const struct search *s, struct patched *p) {
    struct plan_code *c = &p->code->emitted;
    size_t kept = 0;
    for (size_t i = 0; i < c->island_count; i++)
        if (is_island(s, p, patched_island_at(p, i)))
            c->islands[kept++] = c->islands[i];
    p->islands = c->island_count = kept;
}

/* Forgets ways through restored text: a thread there needs no help. */
static void forget_idle_ways(const struct search *s, struct patched *p) {
    struct plan_code *c = &p->code->emitted;
    uint8_t text[sizeof c->patches->before];
    size_t kept = 0;
    for (size_t i = 0, k = 0; i < c->way_count; i++) {
        while (k < c->patch_count && c->patches[k].at < c->ways[i].at)
            k++;
        const struct patch *q = &c->patches[k];
        bool idle = k < c->patch_count && q->at == c->ways[i].at &&
                    read_at(s, q->at + p->bias, text, q->size) &&
                    memcmp(text, q->before, q->size) == 0;
        if (!idle)
            c->ways[kept++] = c->ways[i];
    }
    c->way_count = kept;
}

static bool is_listed(const struct space *space, taddr_t log) {
    for (size_t i = 0; i < space->modules.count; i++)
        if (space->modules.at[i].log == log)
            return true;
    return false;
}

/* Adds the modules of the chain that begins at LOG. */
static void add_chain(const struct search *s, struct space *space, taddr_t log) {
    struct patched p;
    taddr_t next;
    for (; log && !is_listed(space, log) && is_spoor_code(maps_at(&s->maps, log)) &&
           undolog_read(s->fd, log, &p, &next, s->unread);
         log = next) {
        forget_foreign_islands(s, &p);
        forget_idle_ways(s, &p);
        ARRAY_PUSH(&space->modules, p);
    }
}

/* Adds an area that was mapped or about to be: at most its log is in it yet. */
static void add_unfilled_area(const struct search *s, struct space *space,
                              const struct undo_area *area) {
    uint8_t page[AGENT_BYTES];
    const struct map *m = area->bytes ? maps_at(&s->maps, area->at) : NULL;
    if (is_spoor_code(m) && m->end - area->at >= area->bytes &&
        (m->code_image ||
         (read_at(s, area->at, page, sizeof page) && is_zero(page, sizeof page / 2))))
        ARRAY_PUSH(&space->modules, ((struct patched){.area = area->at, .area_size = area->bytes}));
}

/* ---- the space ---- */

/* A slab without a sign, in a process known to be a spoor's, is the last that was made. */
static void add_slabs(const struct search *s, struct space *space) {
    struct undo_sign sign;
    for (size_t i = 0; i < s->maps.list.count; i++) {
        const struct map *m = &s->maps.list.at[i];
        if (!is_slab(m) || m->offset)
            continue;
        bool signed_so = read_sign(s, m, &sign) && sign.agent == space->agent;
        bool unfinished = read_at(s, m->start + UNDO_SIGN_AT, &sign, sizeof sign) && !sign.magic;
        if (signed_so || unfinished)
            ARRAY_PUSH(&space->slabs, slab_of_another(m->start, m->end - m->start));
    }
}

/* Adds descriptors that spoor would have closed after mapping a slab. */
static void add_files(const struct search *s, struct space *space) {
    AUTO_FREE char *name = mem_printf("/proc/%d/fd", s->tid);
    DIR *folder = opendir(name);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        char to[sizeof SLAB_NAME + 1];
        ssize_t size = readlinkat(dirfd(folder), e->d_name, to, sizeof to);
        if (size == sizeof SLAB_NAME - 1 && memcmp(to, SLAB_NAME, (size_t)size) == 0)
            ARRAY_PUSH(&space->inherited->files, (int)strtol(e->d_name, NULL, 10));
    }
    if (folder)
        closedir(folder);
}

static struct space *make_space(const struct search *s, taddr_t agent,
                                const struct undo_head *head) {
    struct space *space = space_new_untraced(s->tid);
    space->inherited = mem_alloc(sizeof *space->inherited);
    space->agent = agent;
    space_set_state(space, SPACE_PATCHED);
    space->filters = permits_trusted(s->tid);
    space->remote = (struct remote_site){.memory_fd = s->fd, .code = head->call};
    add_slabs(s, space);
    add_files(s, space);
    if (space->slabs.count)
        space->remote.frame = slab_frame(space->slabs.at[0]);
    add_chain(s, space, head->chain.first);
    add_chain(s, space, head->chain.leaving);
    add_unfilled_area(s, space, &head->chain.coming);
    return space;
}

static int check_version(const struct search *s, const struct undo_head *head, struct err *err) {
    if (head->version == UNDO_VERSION)
        return 0;
    return err_set(err, ENOTSUP, "foreign-version",
                   "process %d: was traced by spoor %.*s, which was killed: this version cannot "
                   "read what it has left: 'spoor detach' of that version removes it",
                   s->tid, (int)sizeof head->maker, head->maker);
}

int leftovers_find(pid_t tid, struct space **ret, struct err *err) {
    struct search s;
    struct undo_head head = {.magic = 0};
    struct err unread = {0};
    const struct map *m;
    taddr_t at;
    *ret = NULL;
    int rc = begin(tid, &s, err);
    if (rc < 0)
        return rc;
    s.unread = &unread;
    taddr_t agent = find_agent(&s, &head);
    if (agent)
        rc = check_version(&s, &head, err);
    if (rc == 0 && find_foothold(&s, &at, &m)) {
        erase_foothold(&s, at, m);
        agent = agent ? agent : find_unwritten_agent(&s);
    }
    if (rc == 0 && agent) {
        *ret = make_space(&s, agent, &head);
        s.fd = -1; /* it belongs to the space now */
    }
    if (rc == 0 && unread.code) {
        space_unref(*ret);
        *ret = NULL;
        rc = cannot_read(&s, err);
    }
    end(&s);
    return rc;
}

/* ---- threads ---- */

static bool is_in_call(const struct search *s, taddr_t pc) {
    const struct map *m = maps_at(&s->maps, pc);
    struct undo_head head;
    taddr_t at;
    if (m && is_foothold(s, m, &at) && pc - at < agent_call_size())
        return true;
    return read_head(s, page_down(pc), &head) && pc - head.call < agent_call_size();
}

/* Runs the thread through the remote call and its return from the signal frame, which leads out.
 * All signals stay blocked until then, as the killed spoor has left them. */
static int run_out_of_call(const struct search *s) {
    enum { MOST = 64 }; /* stops, of a series of calls */
    struct meanwhile m = {0};
    struct regs regs;
    bool fault = false, ran = false;
    int rc = thread_get_regs(s->tid, &regs);
    for (int i = 0; i < MOST && rc == 0 && !fault && is_in_call(s, regs_pc(&regs)); i++) {
        rc = thread_run_to_syscall(s->tid, &m, &fault);
        ran = true;
        if (rc == 0)
            rc = thread_get_regs(s->tid, &regs);
    }
    if (rc == 0 && ran)
        rc = thread_halt(s->tid, &m);
    thread_redeliver(s->tid, &m);
    return rc;
}

int leftovers_end_call(pid_t tid) {
    struct search s;
    int rc = begin(tid, &s, NULL);
    if (rc < 0)
        return rc;
    rc = run_out_of_call(&s);
    end(&s);
    return rc;
}

bool leftovers_is_lane(const struct space *space, taddr_t addr) {
    for (size_t i = 0; i < space->slabs.count; i++)
        if (addr - space->slabs.at[i]->at < space->slabs.at[i]->size)
            return true;
    return false;
}

static bool is_in_agent(const struct space *space, taddr_t addr) {
    return addr - space->agent < page_bytes();
}

/* A thread will return to ADDR: keeps what is mapped there. */
static void keep(struct space *space, taddr_t addr) {
    struct patched *p = space_owner_at(space, addr);
    space->inherited->agent_stays |= is_in_agent(space, addr);
    if (!p || !p->code)
        return;
    p->kept = true;
    patched_keep_way(p, addr);
}

void leftovers_keep_returns(struct space *space, pid_t tid) {
    struct search s;
    sigframe_array frames = {0};
    if (begin(tid, &s, NULL) < 0)
        return;
    sigframes_find(s.fd, &s.maps, tid, &frames);
    for (size_t i = 0; i < frames.count; i++)
        keep(space, frames.at[i].pc);
    ARRAY_FREE(&frames);
    end(&s);
}

void leftovers_keep_parked(struct space *space, const struct parked_sigframes *parked,
                           const pid_t *tids, size_t count) {
    for (size_t i = 0; i < parked->frames.count; i++) {
        const struct parked_sigframe *f = &parked->frames.at[i];
        taddr_t pc = f->context.pc;
        if ((is_in_agent(space, pc) || space_owner_at(space, pc)) &&
            parked_sigframe_counts(f, space->remote.memory_fd, tids, count))
            keep(space, pc);
    }
}

void leftovers_keep_place(struct space *space, pid_t tid, bool inside) {
    struct regs regs;
    if (thread_get_regs(tid, &regs) == 0 && (inside || is_in_agent(space, regs_pc(&regs))))
        keep(space, regs_pc(&regs));
}

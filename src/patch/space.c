/* An address space's life, state, and lookups by address. */
#include "patch/space.h"

#include <assert.h>
#include <unistd.h>

#include "patch/parked_sigframes.h"
#include "ring/callers.h"
#include "target/candidate.h"

struct space *space_new_untraced(pid_t pid) {
    struct space *s = mem_alloc(sizeof *s);
    s->refs = 1;
    s->pid = pid;
    s->remote.memory_fd = -1;
    return s;
}

void space_set_state(struct space *s, enum space_state state) {
    static const uint8_t allowed[] = {
        [SPACE_UNTRACED] = 1 << SPACE_PATCHED,
        [SPACE_PATCHED] = 1 << SPACE_COMING | 1 << SPACE_PAUSED | 1 << SPACE_LEAVING,
        [SPACE_COMING] = 1 << SPACE_PATCHED | 1 << SPACE_GIVEN_UP,
        [SPACE_PAUSED] = 1 << SPACE_PATCHED | 1 << SPACE_GIVEN_UP | 1 << SPACE_LEAVING,
        [SPACE_GIVEN_UP] = 1 << SPACE_LEAVING,
        [SPACE_LEAVING] = 0,
    };
    assert(allowed[s->state] >> state & 1);
    s->state = state;
}

void space_set_reads(struct space *s, enum reads_state state) {
    static const uint8_t allowed[] = {
        [READS_UNKNOWN] = 1 << READS_NOTED,
        [READS_NOTED] = 1 << READS_NOTED | 1 << READS_STALE | 1 << READS_WATCHED,
        [READS_STALE] = 1 << READS_NOTED | 1 << READS_STALE | 1 << READS_WATCHED,
        [READS_WATCHED] = 1 << READS_NOTED,
    };
    assert(allowed[s->reads.state] >> state & 1);
    s->reads.state = state;
}

pid_t space_thread(const struct space *s) { return candidate_thread(s->pid); }

struct space *space_ref(struct space *s) {
    s->refs++;
    return s;
}

void space_forget_prepared(struct space *s) {
    for (size_t i = 0; i < s->prepared.count; i++)
        patched_forget(&s->prepared.at[i]);
    s->prepared.count = 0;
}

void space_unref(struct space *s) {
    if (!s || --s->refs)
        return;
    for (size_t i = 0; i < s->slabs.count; i++)
        slab_unref(s->slabs.at[i]);
    for (size_t i = 0; i < s->modules.count; i++)
        patched_forget(&s->modules.at[i]);
    space_forget_prepared(s);
    parked_sigframes_forget(&s->parked);
    lane_lookup_done(&s->lookup);
    callers_unref(s->callers);
    ARRAY_FREE(&s->slabs);
    if (s->inherited)
        ARRAY_FREE(&s->inherited->files);
    free(s->inherited);
    ARRAY_FREE(&s->modules);
    ARRAY_FREE(&s->prepared);
    writable_text_done(&s->writable);
    if (s->remote.memory_fd >= 0)
        close(s->remote.memory_fd);
    free(s);
}

taddr_t space_sink(const struct space *s) {
    return s->slabs.count ? slab_sink(s->slabs.at[0])->at : 0;
}

struct patched *space_area_at(const struct space *s, taddr_t addr) {
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        if (p->area && addr >= p->area && addr - p->area < p->area_size)
            return p;
    }
    return NULL;
}

static struct patched *way_at(const struct space *s, taddr_t addr) {
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched *p = &s->modules.at[i];
        if (p->code && patched_way_back(p, addr))
            return p;
    }
    return NULL;
}

taddr_t space_way_back(const struct space *s, taddr_t addr) {
    const struct patched *p = way_at(s, addr);
    return p ? patched_way_back(p, addr) : 0;
}

struct patched *space_owner_at(const struct space *s, taddr_t addr) {
    struct patched *p = space_area_at(s, addr);
    return p ? p : way_at(s, addr);
}

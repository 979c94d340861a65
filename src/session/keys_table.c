/*
 * Lanes hang off thread pointers: a table of pairs stands before the code of each area, which only
 * the tool writes.
 *
 * A pair is written while the thread that it is for stands still, and it stays where it is as long
 * as that lives. Who reads one that is half written finds a key that is not his own. So others may
 * run. What was a thread's that has ended stays until its place, or its key, is needed.
 *
 * Two threads that run with one thread pointer (a raw clone without CLONE_SETTLS) cannot be told
 * apart by stubs: both write to the sink, where nobody reads and everything is counted as lost.
 */
#include "session/keys.h"

#include <string.h>

#include "arch/aarch64/agent.h"
#include "session/space.h"
#include "target/memory.h"

enum { ROOM = 1 << A64_LANES_BITS };

struct key {
    struct a64_lane_key pair;
    pid_t tid; /* whose it is; 0: nobody's (any more) */
    bool shared;
};

static void begin(struct keys *keys) {
    if (keys->table)
        return;
    keys->table = mem_alloc(ROOM * sizeof *keys->table);
    for (unsigned i = 0; i < ROOM; i++)
        keys->table[i].pair.thread_pointer = A64_NO_KEY;
}

static unsigned place_of(uint64_t pointer, unsigned nth) {
    return ((unsigned)(pointer >> A64_LANES_SHIFT) + nth) % ROOM;
}

static struct key *find_pointer(const struct keys *keys, uint64_t pointer) {
    for (unsigned i = 0; keys->table && i < ROOM; i++)
        if (keys->table[i].pair.thread_pointer == pointer)
            return &keys->table[i];
    return NULL;
}

static struct key *find_thread(const struct keys *keys, pid_t tid) {
    for (unsigned i = 0; keys->table && i < ROOM; i++)
        if (keys->table[i].tid == tid)
            return &keys->table[i];
    return NULL;
}

static struct key *find_room(const struct keys *keys, uint64_t pointer) {
    for (unsigned i = 0; i < ROOM; i++) {
        struct key *k = &keys->table[place_of(pointer, i)];
        if (!k->tid)
            return k;
    }
    return NULL;
}

/* ---- in the target ---- */

static struct a64_agent_asks asks_of(const struct space *s) {
    const struct slot *sink = slab_sink(s->slabs.at[0]);
    taddr_t control = s->slabs.at[0]->at;
    return (struct a64_agent_asks){s->keys.full ? sink->lane->control : control, sink->at};
}

static int write_asks(const struct space *s, taddr_t area, struct err *err) {
    struct a64_agent_asks asks = asks_of(s);
    return memory_write(s->remote.memory_fd, area + a64_agent_entries().asks, &asks, sizeof asks,
                        err);
}

int keys_install(const struct space *s, taddr_t area, struct err *err) {
    struct a64_lane_key table[ROOM];
    for (unsigned i = 0; i < ROOM; i++)
        table[i] = s->keys.table ? s->keys.table[i].pair : (struct a64_lane_key){A64_NO_KEY, 0};
    int rc = memory_write(s->remote.memory_fd, area, table, sizeof table, err);
    return rc < 0 ? rc : write_asks(s, area, err);
}

static taddr_t area_of(const struct patched *p) { return p->code ? p->area : 0; }

static void put(const struct space *s, const struct key *k) {
    uint64_t at = (uint64_t)(k - s->keys.table) * sizeof k->pair;
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            memory_write(s->remote.memory_fd, s->modules.at[i].area + at, &k->pair, sizeof k->pair,
                         NULL);
}

static void say_full(struct space *s) {
    s->keys.full = s->keys.loses = true;
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            write_asks(s, s->modules.at[i].area, NULL);
}

/* ---- whose is what ---- */

static void drop(const struct space *s, struct key *k) {
    *k = (struct key){.pair = {A64_NO_KEY, 0}};
    put(s, k);
}

/* The thread's pair is K, which another's may have been. */
static void own(struct space *s, struct key *k, pid_t tid, uint64_t pointer, taddr_t lane) {
    *k = (struct key){{pointer, lane}, tid, false};
    put(s, k);
}

static bool stands_with(const struct key *k) {
    uint64_t pointer;
    return thread_get_pointer(k->tid, &pointer) == 0 && pointer == k->pair.thread_pointer;
}

/* Whether K is of another thread that runs beside TID, which is NEW here, made by MAKER. (One that
 * neither stands nor has made it is dead, even if that was not reported yet: threads' memory is
 * used again as soon as that.) */
static bool is_beside(const struct key *k, pid_t tid, pid_t maker, bool new) {
    if (!k || !k->tid || k->tid == tid)
        return false;
    return k->shared || (new && (k->tid == maker || stands_with(k)));
}

/* In what a spoor that was killed has left, threads keep what they have. */
static void give(struct space *s, pid_t tid, taddr_t lane, pid_t maker, bool new) {
    uint64_t pointer;
    if (!s || s->inherited || !s->slabs.count || thread_get_pointer(tid, &pointer) < 0)
        return;
    begin(&s->keys);
    struct key *mine = find_thread(&s->keys, tid), *k = find_pointer(&s->keys, pointer);
    if (mine && mine != k)
        drop(s, mine);
    if (!lane)
        return;
    if (is_beside(k, tid, maker, new)) {
        own(s, k, k->tid, pointer, space_sink(s));
        k->shared = s->keys.loses = true;
        return;
    }
    bool shared = k && k->tid == tid && k->shared;
    k = k ? k : find_room(&s->keys, pointer);
    if (!k) {
        say_full(s);
        return;
    }
    own(s, k, tid, pointer, shared ? space_sink(s) : lane);
    k->shared = shared;
}

void keys_give(struct space *s, pid_t tid, taddr_t lane) { give(s, tid, lane, 0, false); }

void keys_give_newborn(struct space *s, pid_t tid, taddr_t lane, pid_t maker) {
    give(s, tid, lane, maker, true);
}

void keys_pass(struct space *s, pid_t tid, taddr_t lane) { give(s, tid, lane, 0, false); }

taddr_t keys_lane(const struct space *s, pid_t tid) {
    const struct key *k = s ? find_thread(&s->keys, tid) : NULL;
    return k ? k->pair.lane : 0;
}

void keys_forget(struct space *s, pid_t tid) {
    struct key *k = s ? find_thread(&s->keys, tid) : NULL;
    if (k)
        k->tid = 0;
}

uint64_t keys_mark(pid_t tid) {
    uint64_t pointer;
    return thread_get_pointer(tid, &pointer) < 0 ? 0 : pointer;
}

void keys_copy(struct keys *to, const struct keys *from) {
    *to = (struct keys){.full = from->full};
    if (!from->table)
        return;
    begin(to);
    memcpy(to->table, from->table, ROOM * sizeof *to->table);
    for (unsigned i = 0; i < ROOM; i++)
        to->table[i].tid = 0; /* they are not in the copy */
}

void keys_done(struct keys *keys) {
    free(keys->table);
    keys->table = NULL;
}

bool keys_are_asked_for(const struct space *s) {
    return s->slabs.count && s->slabs.at[0]->local &&
           __atomic_exchange_n(&slab_sink(s->slabs.at[0])->lane->hook, 0, __ATOMIC_ACQ_REL);
}

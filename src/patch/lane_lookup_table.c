/*
 * Finds lanes by thread pointer: a table of keys (thread pointer, lane) precedes the code of each
 * area. Only spoor writes it.
 *
 * A key is written while its thread is stopped, and keeps its place as long as the thread lives;
 * only its pointer may be removed. A thread that reads a half-written key finds another pointer
 * than its own, so other threads may run meanwhile. The key of an ended thread stays until its
 * place or its pointer is needed.
 *
 * Threads that run with one thread pointer (a raw clone without CLONE_SETTLS) are told apart by
 * their stacks (lane_lookup_shared.h). Programs without thread-local storage (Go's without cgo)
 * have thread pointer 0 in all threads, and their stacks move between threads. All such threads but
 * one get an assigned pointer that leads nowhere. New threads begin with their creator's. All get 0
 * back at detach.
 *
 * On 32-bit Arm only the thread itself can set its pointer, by a remote call. A thread inside a
 * system call that this would disturb gets its pointer later; until then it may have one that was
 * assigned to another thread. From then on the space is *ambiguous*: no thread has a key that
 * another could match, so each thread asks, and gets a pointer while it waits in the agent. If a
 * sandbox forbids the call, threads write to the sink: nobody reads it, and all its events count as
 * lost.
 */
#include <errno.h>
#include <string.h>

#include "arch/agent.h"
#include "patch/lane_lookup_shared.h"
#include "patch/permits.h"
#include "patch/space.h"
#include "target/memory.h"
#include "wire/lane_lookup.h"

enum { ROOM = 1 << LANES_BITS };

/* Each assigned pointer has its own place in the table. */
static uint64_t nth_to_assign(uint64_t i) { return REGS_ASSIGNED_POINTER | i << LANES_SHIFT; }
static bool is_assigned(uint64_t pointer) {
    return (pointer & ~(uint64_t)((ROOM - 1) << LANES_SHIFT)) == REGS_ASSIGNED_POINTER;
}

struct owned_key {
    struct lane_key key;
    pid_t tid;     /* the key's thread; 0: none (any more) */
    pid_t maker;   /* the vfork parent that gets the key back from TID; 0: none */
    pid_t read_by; /* a thread that may be reading the lane, though the key is gone */
    bool shared;   /* several threads use it: its lane is the sink */
};

static void begin(struct lane_lookup *lookup) {
    if (lookup->table)
        return;
    lookup->table = mem_alloc(ROOM * sizeof *lookup->table);
    lookup->kept_pointers = mem_alloc(ROOM * sizeof *lookup->kept_pointers);
    for (unsigned i = 0; i < ROOM; i++)
        lookup->table[i].key.thread_pointer = NO_LANE_KEY;
}

/* POINTER was assigned before attach, perhaps to other threads, too: it is not assigned again. */
static void note_kept(struct lane_lookup *lookup, uint64_t pointer) {
    begin(lookup);
    lookup->kept_pointers[pointer >> LANES_SHIFT & (ROOM - 1)] = true;
}

static unsigned place_of(uint64_t pointer, unsigned nth) {
    return ((unsigned)(pointer >> LANES_SHIFT) + nth) % ROOM;
}

static struct owned_key *find_pointer(const struct lane_lookup *lookup, uint64_t pointer) {
    for (unsigned i = 0; lookup->table && i < ROOM; i++)
        if (lookup->table[i].key.thread_pointer == pointer)
            return &lookup->table[i];
    return NULL;
}

static struct owned_key *find_thread(const struct lane_lookup *lookup, pid_t tid) {
    for (unsigned i = 0; lookup->table && i < ROOM; i++)
        if (lookup->table[i].tid == tid)
            return &lookup->table[i];
    return NULL;
}

static struct owned_key *find_room(const struct lane_lookup *lookup, uint64_t pointer) {
    for (unsigned i = 0; i < ROOM; i++) {
        struct owned_key *k = &lookup->table[place_of(pointer, i)];
        if (!k->tid && !k->read_by)
            return k;
    }
    return NULL;
}

/* ---- in the target ---- */

static struct lane_asks asks_of(const struct space *s) {
    const struct lane_handle *sink = slab_sink(s->slabs.at[0]);
    taddr_t control = s->slabs.at[0]->at;
    return (struct lane_asks){s->lookup.full ? sink->lane->control : control, sink->at, control};
}

static int write_asks(const struct space *s, taddr_t area, struct err *err) {
    struct lane_asks asks = asks_of(s);
    return memory_write(s->remote.memory_fd, area + agent_asks(), &asks, sizeof asks, err);
}

int lane_lookup_install(const struct space *s, taddr_t area, struct err *err) {
    struct lane_key table[ROOM];
    for (unsigned i = 0; i < ROOM; i++)
        table[i] = s->lookup.table ? s->lookup.table[i].key : (struct lane_key){NO_LANE_KEY, 0};
    int rc = memory_write(s->remote.memory_fd, area, table, sizeof table, err);
    if (rc == 0)
        rc = shared_install(s, area, err);
    return rc < 0 ? rc : write_asks(s, area, err);
}

static taddr_t area_of(const struct patched *p) { return p->code ? p->area : 0; }

/* Writes the first SIZE bytes of K to all areas. */
static void put_part(const struct space *s, const struct owned_key *k, size_t size) {
    uint64_t at = (uint64_t)(k - s->lookup.table) * sizeof k->key;
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            memory_write(s->remote.memory_fd, s->modules.at[i].area + at, &k->key, size, NULL);
}

static void put(const struct space *s, const struct owned_key *k) { put_part(s, k, sizeof k->key); }

static void note_full(struct space *s) {
    s->lookup.full = s->lookup.loses_events = true;
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            write_asks(s, s->modules.at[i].area, NULL);
}

/* ---- keys and their threads ---- */

static void drop(const struct space *s, struct owned_key *k) {
    *k = (struct owned_key){.key = {NO_LANE_KEY, 0}};
    put(s, k);
}

/* K belongs to TID from now on; it may have been another thread's. */
static void own(struct space *s, struct owned_key *k, pid_t tid, uint64_t pointer, taddr_t lane) {
    *k = (struct owned_key){.key = {pointer, lane}, .tid = tid};
    put(s, k);
}

static bool stands_with(const struct owned_key *k) {
    uint64_t pointer;
    return thread_get_pointer(k->tid, &pointer) == 0 && pointer == k->key.thread_pointer;
}

/* Whether K belongs to another thread that runs beside TID, which is NEW, created by MAKER. (A
 * thread that neither stands still nor has created TID is dead, even if its end is not reported
 * yet: its memory, and so its pointer, is reused at once.) */
static bool is_beside(const struct owned_key *k, pid_t tid, pid_t maker, bool new) {
    if (!k || !k->tid || k->tid == tid)
        return false;
    return k->shared || (new && (k->tid == maker || stands_with(k)));
}

/* How a thread gets its lane. */
struct lane_grant {
    pid_t tid;
    taddr_t lane;
    pid_t maker; /* 0: not known */
    bool new;
    bool passed; /* MAKER, if not 0, waits in vfork() meanwhile; MAKER 0: that is over */
    bool last;   /* the thread is about to be detached */
};

static int set_pointer(const struct space *s, pid_t tid, uint64_t pointer) {
    bool may = REGS_CALL_SET_POINTER >= 0 && s->remote.frame && permits(s, tid, PERMIT_POINTER);
    return thread_set_pointer(tid, pointer, may ? &s->remote : NULL);
}

/* Number of the first assignable pointer that no thread has; ROOM: there is none. */
static uint64_t free_to_assign(const struct lane_lookup *lookup) {
    bool used[ROOM];
    uint64_t i = 0;
    memcpy(used, lookup->kept_pointers, sizeof used);
    for (unsigned k = 0; k < ROOM; k++)
        if (lookup->table[k].tid && is_assigned(lookup->table[k].key.thread_pointer))
            used[lookup->table[k].key.thread_pointer >> LANES_SHIFT & (ROOM - 1)] = true;
    while (i < ROOM && used[i])
        i++;
    return i;
}

/* Gives TID an assigned pointer that no other thread has. */
static int assign_pointer(const struct space *s, pid_t tid, uint64_t *ret) {
    uint64_t i = free_to_assign(&s->lookup), pointer = nth_to_assign(i);
    int rc = i < ROOM ? set_pointer(s, tid, pointer) : -ENOTSUP;
    if (rc < 0)
        return rc;
    *ret = pointer;
    shared_seek_again(s, tid);
    return 0;
}

/* Whether G's thread needs another pointer than POINTER, whose key is K. */
static bool needs_another(const struct space *s, const struct lane_grant *g, uint64_t pointer,
                          const struct owned_key *k) {
    if (!g->lane || g->last || (pointer && !is_assigned(pointer)))
        return false;
    bool own = is_assigned(pointer) && ((k && k->tid == g->tid) || g->passed);
    return is_beside(k, g->tid, g->maker, g->new) || (s->lookup.ambiguous && !own);
}

/* The stack pointer at the birth of G's thread, if it has not run since; else 0. */
static uint64_t stack_at_birth(const struct lane_grant *g) {
    struct regs regs;
    bool begins = (g->new || g->passed) && g->maker;
    return begins && thread_get_regs(g->tid, &regs) == 0 ? regs_sp(&regs) : 0;
}

/* K's thread does not find K any more; it may still be reading the lane. */
static void hide(const struct space *s, struct owned_key *k) {
    k->key.thread_pointer = NO_LANE_KEY;
    put_part(s, k, sizeof k->key.thread_pointer);
    *k = (struct owned_key){.key = k->key, .read_by = k->tid};
}

/* Moves K's thread from its key to the threads that share its pointer. */
static void share(struct space *s, struct owned_key *k) {
    struct sharer thread = {.tid = k->tid, .pointer = k->key.thread_pointer, .lane = k->key.lane};
    hide(s, k);
    shared_add(s, &thread);
}

/* G's thread shares POINTER with others. */
static void give_shared(struct space *s, const struct lane_grant *g, uint64_t pointer) {
    struct sharer *old = shared_find(&s->lookup, g->tid), *maker;
    if (g->passed && (maker = shared_find(&s->lookup, g->maker)))
        maker->waits = true;
    if (old && old->lane == g->lane && !g->passed)
        return;
    shared_add(s, &(struct sharer){.tid = g->tid,
                                   .waits = old && old->waits && !g->passed,
                                   .pointer = pointer,
                                   .lane = g->lane,
                                   .top = old ? old->top : stack_at_birth(g)});
}

/* DENIED: the thread needs another pointer and cannot get one. */
static void give_alone(struct space *s, const struct lane_grant *g, uint64_t pointer, bool denied) {
    struct owned_key *k = find_pointer(&s->lookup, pointer);
    bool shared = denied || (k && k->tid == g->tid && k->shared);
    k = k ? k : find_room(&s->lookup, pointer);
    if (!k) {
        note_full(s);
        return;
    }
    own(s, k, denied && k->tid ? k->tid : g->tid, pointer, shared ? space_sink(s) : g->lane);
    k->maker = g->passed ? g->maker : 0;
    k->shared = shared;
    s->lookup.loses_events |= shared;
}

/* Removes what G's thread had under another pointer, or all if it gets no lane. */
static void take_old(struct space *s, const struct lane_grant *g, uint64_t pointer) {
    struct owned_key *old_key = find_thread(&s->lookup, g->tid);
    const struct sharer *shared = shared_find(&s->lookup, g->tid);
    if (old_key && (!g->lane || old_key->key.thread_pointer != pointer))
        drop(s, old_key);
    if (shared && (!g->lane || shared->pointer != pointer))
        shared_remove(s, g->tid);
}

/* Makes TID ask, and K's thread, which has the same POINTER. */
static void make_ask(struct space *s, pid_t tid, uint64_t pointer, struct owned_key *k) {
    struct owned_key *old_key = find_thread(&s->lookup, tid);
    s->lookup.ambiguous = true;
    if (is_assigned(pointer))
        note_kept(&s->lookup, pointer);
    if (k && !k->shared)
        hide(s, k);
    if (old_key && old_key != k)
        hide(s, old_key);
}

/* Threads of an inherited space keep their lanes. */
static void give(struct space *s, const struct lane_grant *g) {
    uint64_t pointer;
    if (thread_get_pointer(g->tid, &pointer) < 0)
        return;
    if (!g->lane && is_assigned(pointer))
        thread_set_pointer(g->tid, 0, NULL);
    if (!s || s->inherited || !s->slabs.count)
        return;
    begin(&s->lookup);
    if (s->lookup.copied)
        shared_clear(s);
    s->lookup.copied = false;
    struct owned_key *k = find_pointer(&s->lookup, pointer);
    int assigned = needs_another(s, g, pointer, k) ? assign_pointer(s, g->tid, &pointer) : 0;
    if (assigned == -EAGAIN)
        make_ask(s, g->tid, pointer, k);
    if (assigned == -EAGAIN || assigned == -ESRCH)
        return;
    if (g->lane && pointer && !is_assigned(pointer) && is_beside(k, g->tid, g->maker, g->new))
        share(s, k);
    take_old(s, g, pointer);
    if (!g->lane)
        return;
    if (shared_find(&s->lookup, g->tid) || shared_has(&s->lookup, pointer, g->tid))
        give_shared(s, g, pointer);
    else
        give_alone(s, g, pointer, assigned < 0);
}

void lane_lookup_give(struct space *s, pid_t tid, taddr_t lane) {
    give(s, &(struct lane_grant){.tid = tid, .lane = lane});
}

void lane_lookup_give_new(struct space *s, pid_t tid, taddr_t lane, pid_t maker) {
    give(s, &(struct lane_grant){.tid = tid, .lane = lane, .maker = maker, .new = true});
}

void lane_lookup_pass(struct space *s, pid_t tid, taddr_t lane, pid_t maker) {
    give(s, &(struct lane_grant){.tid = tid, .lane = lane, .maker = maker, .passed = true});
}

void lane_lookup_leave(struct space *s, pid_t tid, taddr_t lane) {
    give(s, &(struct lane_grant){.tid = tid, .lane = lane, .last = true});
}

void lane_lookup_expect(struct space *s, pid_t tid) {
    uint64_t pointer;
    if (thread_get_pointer(tid, &pointer) == 0 && is_assigned(pointer))
        note_kept(&s->lookup, pointer);
}

void lane_lookup_unassign(struct space *s, pid_t tid) {
    uint64_t pointer;
    if (thread_get_pointer(tid, &pointer) == 0 && is_assigned(pointer))
        set_pointer(s, tid, 0);
}

taddr_t lane_lookup_lane(const struct space *s, pid_t tid) {
    const struct owned_key *k = s ? find_thread(&s->lookup, tid) : NULL;
    const struct sharer *shared = s ? shared_find(&s->lookup, tid) : NULL;
    return k ? k->key.lane : shared ? shared->lane : 0;
}

void lane_lookup_forget(struct space *s, pid_t tid) {
    if (!s)
        return;
    for (unsigned i = 0; s->lookup.table && i < ROOM; i++) {
        struct owned_key *k = &s->lookup.table[i];
        k->maker = k->maker == tid ? 0 : k->maker;
        k->read_by = k->read_by == tid ? 0 : k->read_by;
        if (k->tid == tid) {
            k->tid = k->maker;
            k->maker = 0;
        }
    }
    shared_remove(s, tid);
}

/* Gives keys to threads that are now the only ones with their pointer. Returns whether others
 * remain. */
static bool keys_for_sole_owners(struct space *s) {
    for (size_t i = s->lookup.sharing->threads.count; i-- > 0;) {
        struct sharer k = s->lookup.sharing->threads.at[i];
        if (shared_has(&s->lookup, k.pointer, k.tid))
            continue;
        shared_remove(s, k.tid);
        lane_lookup_give(s, k.tid, k.lane);
    }
    return s->lookup.sharing->threads.count;
}

void lane_lookup_tell_apart(struct space *s) {
    if (s->lookup.sharing && s->lookup.sharing->threads.count && keys_for_sole_owners(s) &&
        !shared_look(s))
        note_full(s);
}

uint64_t lane_lookup_mark(pid_t tid) {
    uint64_t pointer;
    return thread_get_pointer(tid, &pointer) < 0 ? 0 : pointer;
}

uint64_t lane_lookup_mark_with(pid_t tid, taddr_t lane) {
    (void)lane;
    return lane_lookup_mark(tid);
}

static taddr_t first_area(const struct space *s) {
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            return s->modules.at[i].area;
    return 0;
}

/* Forks of forks all have one pointer. In each process's table it leads to the process's own lane;
 * in a forked process's table still to its parent's lane. */
bool lane_lookup_may_belong(const struct space *s, taddr_t lane, pid_t copy) {
    AUTO_FD int fd = -1;
    struct lane_key table[ROOM];
    taddr_t area = s && lane ? first_area(s) : 0;
    uint64_t pointer = lane_lookup_mark(copy);
    if (!area || memory_open(copy, &fd, NULL) < 0 ||
        memory_read(fd, area, table, sizeof table, NULL) < 0)
        return true;
    for (unsigned i = 0; i < ROOM; i++)
        if (table[i].thread_pointer == pointer)
            return table[i].lane == lane;
    return true;
}

void lane_lookup_copy(struct lane_lookup *to, const struct lane_lookup *from) {
    *to = (struct lane_lookup){.full = from->full, .copied = from->copied || from->sharing};
    if (!from->table)
        return;
    begin(to);
    memcpy(to->table, from->table, ROOM * sizeof *to->table);
    for (unsigned i = 0; i < ROOM; i++)
        to->table[i] = (struct owned_key){
            .key = from->table[i].key}; /* the parent's threads are not in the copy */
}

void lane_lookup_done(struct lane_lookup *lookup) {
    shared_done(lookup);
    free(lookup->kept_pointers);
    free(lookup->table);
    lookup->table = NULL;
    lookup->kept_pointers = NULL;
}

bool lane_lookup_is_taken(const struct space *s, pid_t tid) {
    (void)s;
    (void)tid;
    return false;
}

bool lane_lookup_is_requested(const struct space *s) {
    return s->slabs.count && s->slabs.at[0]->local &&
           __atomic_exchange_n(&slab_sink(s->slabs.at[0])->lane->hook, 0, __ATOMIC_ACQ_REL);
}

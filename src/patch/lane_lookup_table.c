/*
 * Lanes hang off thread pointers: a table of pairs stands before the code of each area, which only
 * the tool writes.
 *
 * A pair is written while the thread that it is for stands still. It stays where it is as long as
 * that lives, or only its key is taken away. Who reads one that is half written finds a key that is
 * not his own. So others may run. What was a thread's that has ended stays until its place, or its
 * key, is needed.
 *
 * Threads that run with one thread pointer (a raw clone without CLONE_SETTLS) are told apart by
 * where their stacks are (lane_lookup_shared.h). Where that pointer is 0 nothing can be behind it:
 * programs without thread-local storage (Go's without cgo) have all threads so, and stacks that go
 * from one to another. All of these but one are lent a pointer that leads nowhere, which those that
 * they make begin with, and get 0 back when we leave.
 *
 * On 32-bit Arm only a thread itself can change it: by a remote call. Who stands in a call, which
 * that would disturb, is lent one later, and may have kept one that was lent to it before. From
 * then on the threads are a *crowd*: none has a pair that others might take for theirs, so each
 * comes to ask, and is lent a pointer as it stands in the agent. (Where a sandbox forbids the call
 * they write to the sink, where nobody reads and everything is counted as lost.)
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

/* Pointers that are lent have a place each in the table. */
static uint64_t nth_to_assign(uint64_t i) { return REGS_ASSIGNED_POINTER | i << LANES_SHIFT; }
static bool is_assigned(uint64_t pointer) {
    return (pointer & ~(uint64_t)((ROOM - 1) << LANES_SHIFT)) == REGS_ASSIGNED_POINTER;
}

struct owned_pair {
    struct lane_key pair;
    pid_t tid;     /* whose it is; 0: nobody's (any more) */
    pid_t maker;   /* whose it is when TID, its child of vfork, does not need it any more */
    pid_t read_by; /* who may be about to read its lane, though the key is gone */
    bool shared;   /* by several, and so the sink's */
};

static void begin(struct lane_lookup *lookup) {
    if (lookup->table)
        return;
    lookup->table = mem_alloc(ROOM * sizeof *lookup->table);
    lookup->kept_pointers = mem_alloc(ROOM * sizeof *lookup->kept_pointers);
    for (unsigned i = 0; i < ROOM; i++)
        lookup->table[i].pair.thread_pointer = NO_LANE_KEY;
}

/* Others may have that POINTER, too, which was lent before we came: it is not lent again. */
static void note_kept(struct lane_lookup *lookup, uint64_t pointer) {
    begin(lookup);
    lookup->kept_pointers[pointer >> LANES_SHIFT & (ROOM - 1)] = true;
}

static unsigned place_of(uint64_t pointer, unsigned nth) {
    return ((unsigned)(pointer >> LANES_SHIFT) + nth) % ROOM;
}

static struct owned_pair *find_pointer(const struct lane_lookup *lookup, uint64_t pointer) {
    for (unsigned i = 0; lookup->table && i < ROOM; i++)
        if (lookup->table[i].pair.thread_pointer == pointer)
            return &lookup->table[i];
    return NULL;
}

static struct owned_pair *find_thread(const struct lane_lookup *lookup, pid_t tid) {
    for (unsigned i = 0; lookup->table && i < ROOM; i++)
        if (lookup->table[i].tid == tid)
            return &lookup->table[i];
    return NULL;
}

static struct owned_pair *find_room(const struct lane_lookup *lookup, uint64_t pointer) {
    for (unsigned i = 0; i < ROOM; i++) {
        struct owned_pair *k = &lookup->table[place_of(pointer, i)];
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
        table[i] = s->lookup.table ? s->lookup.table[i].pair : (struct lane_key){NO_LANE_KEY, 0};
    int rc = memory_write(s->remote.memory_fd, area, table, sizeof table, err);
    if (rc == 0)
        rc = shared_install(s, area, err);
    return rc < 0 ? rc : write_asks(s, area, err);
}

static taddr_t area_of(const struct patched *p) { return p->code ? p->area : 0; }

/* The first SIZE bytes of it. */
static void put_part(const struct space *s, const struct owned_pair *k, size_t size) {
    uint64_t at = (uint64_t)(k - s->lookup.table) * sizeof k->pair;
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            memory_write(s->remote.memory_fd, s->modules.at[i].area + at, &k->pair, size, NULL);
}

static void put(const struct space *s, const struct owned_pair *k) {
    put_part(s, k, sizeof k->pair);
}

static void say_full(struct space *s) {
    s->lookup.full = s->lookup.loses_events = true;
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            write_asks(s, s->modules.at[i].area, NULL);
}

/* ---- whose is what ---- */

static void drop(const struct space *s, struct owned_pair *k) {
    *k = (struct owned_pair){.pair = {NO_LANE_KEY, 0}};
    put(s, k);
}

/* The thread's pair is K, which another's may have been. */
static void own(struct space *s, struct owned_pair *k, pid_t tid, uint64_t pointer, taddr_t lane) {
    *k = (struct owned_pair){.pair = {pointer, lane}, .tid = tid};
    put(s, k);
}

static bool stands_with(const struct owned_pair *k) {
    uint64_t pointer;
    return thread_get_pointer(k->tid, &pointer) == 0 && pointer == k->pair.thread_pointer;
}

/* Whether K is of another thread that runs beside TID, which is NEW here, made by MAKER. (One that
 * neither stands nor has made it is dead, even if that was not reported yet: threads' memory is
 * used again as soon as that.) */
static bool is_beside(const struct owned_pair *k, pid_t tid, pid_t maker, bool new) {
    if (!k || !k->tid || k->tid == tid)
        return false;
    return k->shared || (new && (k->tid == maker || stands_with(k)));
}

/* In what way a thread gets its lane. */
struct lane_grant {
    pid_t tid;
    taddr_t lane;
    pid_t maker; /* 0: not known */
    bool new;
    bool passed; /* MAKER waits meanwhile, if there is one; else it waits no more */
    bool last;   /* it is about to be left */
};

static int set_pointer(const struct space *s, pid_t tid, uint64_t pointer) {
    bool may = REGS_CALL_SET_POINTER >= 0 && s->remote.frame && permits(s, tid, PERMIT_POINTER);
    return thread_set_pointer(tid, pointer, may ? &s->remote : NULL);
}

/* The first one to lend that no thread has; ROOM: there is none. */
static uint64_t free_to_assign(const struct lane_lookup *lookup) {
    bool used[ROOM];
    uint64_t i = 0;
    memcpy(used, lookup->kept_pointers, sizeof used);
    for (unsigned k = 0; k < ROOM; k++)
        if (lookup->table[k].tid && is_assigned(lookup->table[k].pair.thread_pointer))
            used[lookup->table[k].pair.thread_pointer >> LANES_SHIFT & (ROOM - 1)] = true;
    while (i < ROOM && used[i])
        i++;
    return i;
}

/* TID gets a pointer that no other has. */
static int assign_pointer(const struct space *s, pid_t tid, uint64_t *ret) {
    uint64_t i = free_to_assign(&s->lookup), pointer = nth_to_assign(i);
    int rc = i < ROOM ? set_pointer(s, tid, pointer) : -ENOTSUP;
    if (rc < 0)
        return rc;
    *ret = pointer;
    shared_seek_again(s, tid);
    return 0;
}

/* Whether G's thread is to have another pointer than this one, which K's thread has. */
static bool needs_another(const struct space *s, const struct lane_grant *g, uint64_t pointer,
                          const struct owned_pair *k) {
    if (!g->lane || g->last || (pointer && !is_assigned(pointer)))
        return false;
    bool own = is_assigned(pointer) && ((k && k->tid == g->tid) || g->passed);
    return is_beside(k, g->tid, g->maker, g->new) || (s->lookup.ambiguous && !own);
}

/* Where G's thread has begun, if this is the first that is seen of it. */
static uint64_t top_of(const struct lane_grant *g) {
    struct regs regs;
    bool begins = (g->new || g->passed) && g->maker;
    return begins && thread_get_regs(g->tid, &regs) == 0 ? regs_sp(&regs) : 0;
}

/* The thread that has K, and may be reading it, finds it no more. */
static void hide(const struct space *s, struct owned_pair *k) {
    k->pair.thread_pointer = NO_LANE_KEY;
    put_part(s, k, sizeof k->pair.thread_pointer);
    *k = (struct owned_pair){.pair = k->pair, .read_by = k->tid};
}

/* The thread that has K shares its pointer from now on. */
static void share(struct space *s, struct owned_pair *k) {
    struct sharer thread = {.tid = k->tid, .pointer = k->pair.thread_pointer, .lane = k->pair.lane};
    hide(s, k);
    shared_add(s, &thread);
}

/* G's thread is, or comes to be, one of those that share POINTER. */
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
                                   .top = old ? old->top : top_of(g)});
}

/* DENIED: it should have been lent another pointer, and cannot be. */
static void give_alone(struct space *s, const struct lane_grant *g, uint64_t pointer, bool denied) {
    struct owned_pair *k = find_pointer(&s->lookup, pointer);
    bool shared = denied || (k && k->tid == g->tid && k->shared);
    k = k ? k : find_room(&s->lookup, pointer);
    if (!k) {
        say_full(s);
        return;
    }
    own(s, k, denied && k->tid ? k->tid : g->tid, pointer, shared ? space_sink(s) : g->lane);
    k->maker = g->passed ? g->maker : 0;
    k->shared = shared;
    s->lookup.loses_events |= shared;
}

/* What it had by another pointer, or has no more, it is rid of. */
static void take_old(struct space *s, const struct lane_grant *g, uint64_t pointer) {
    struct owned_pair *had = find_thread(&s->lookup, g->tid);
    const struct sharer *shared = shared_find(&s->lookup, g->tid);
    if (had && (!g->lane || had->pair.thread_pointer != pointer))
        drop(s, had);
    if (shared && (!g->lane || shared->pointer != pointer))
        shared_remove(s, g->tid);
}

/* TID is to ask, and so is the thread of K, which has the same POINTER. */
static void let_ask(struct space *s, pid_t tid, uint64_t pointer, struct owned_pair *k) {
    struct owned_pair *had = find_thread(&s->lookup, tid);
    s->lookup.ambiguous = true;
    if (is_assigned(pointer))
        note_kept(&s->lookup, pointer);
    if (k && !k->shared)
        hide(s, k);
    if (had && had != k)
        hide(s, had);
}

/* In what a spoor that was killed has left, threads keep what they have. */
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
    struct owned_pair *k = find_pointer(&s->lookup, pointer);
    int assigned = needs_another(s, g, pointer, k) ? assign_pointer(s, g->tid, &pointer) : 0;
    if (assigned == -EAGAIN)
        let_ask(s, g->tid, pointer, k);
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

void lane_lookup_take_back(struct space *s, pid_t tid) {
    uint64_t pointer;
    if (thread_get_pointer(tid, &pointer) == 0 && is_assigned(pointer))
        set_pointer(s, tid, 0);
}

taddr_t lane_lookup_lane(const struct space *s, pid_t tid) {
    const struct owned_pair *k = s ? find_thread(&s->lookup, tid) : NULL;
    const struct sharer *shared = s ? shared_find(&s->lookup, tid) : NULL;
    return k ? k->pair.lane : shared ? shared->lane : 0;
}

void lane_lookup_forget(struct space *s, pid_t tid) {
    if (!s)
        return;
    for (unsigned i = 0; s->lookup.table && i < ROOM; i++) {
        struct owned_pair *k = &s->lookup.table[i];
        k->maker = k->maker == tid ? 0 : k->maker;
        k->read_by = k->read_by == tid ? 0 : k->read_by;
        if (k->tid == tid) {
            k->tid = k->maker;
            k->maker = 0;
        }
    }
    shared_remove(s, tid);
}

/* Those that are alone with their pointers have pairs again. */
static bool give_pairs(struct space *s) {
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
    if (s->lookup.sharing && s->lookup.sharing->threads.count && give_pairs(s) && !shared_look(s))
        say_full(s);
}

uint64_t lane_lookup_mark(pid_t tid) {
    uint64_t pointer;
    return thread_get_pointer(tid, &pointer) < 0 ? 0 : pointer;
}

static taddr_t first_area(const struct space *s) {
    for (size_t i = 0; i < s->modules.count; i++)
        if (area_of(&s->modules.at[i]))
            return s->modules.at[i].area;
    return 0;
}

/* Forks of forks have all one pointer, but in each one's table it leads to its own lane, and in a
 * copy's still to its maker's. */
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
        to->table[i] =
            (struct owned_pair){.pair = from->table[i].pair}; /* they are not in the copy */
}

void lane_lookup_done(struct lane_lookup *lookup) {
    shared_done(lookup);
    free(lookup->kept_pointers);
    free(lookup->table);
    lookup->table = NULL;
    lookup->kept_pointers = NULL;
}

bool lane_lookup_is_requested(const struct space *s) {
    return s->slabs.count && s->slabs.at[0]->local &&
           __atomic_exchange_n(&slab_sink(s->slabs.at[0])->lane->hook, 0, __ATOMIC_ACQ_REL);
}

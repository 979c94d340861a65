/* x86-64: a register of each thread holds its lane's address. */
#include "patch/space.h"
#include "target/thread.h"

static bool holds_lane(const struct space *s, taddr_t addr) {
    bool any = false;
    for (size_t i = 0; i < s->slabs.count; i++)
        any |= addr - s->slabs.at[i]->at < s->slabs.at[i]->size;
    return any;
}

bool lane_lookup_is_taken(const struct space *space, pid_t tid) {
    return !holds_lane(space, thread_get_lane(tid));
}

/* Whether TID has the address of something else than spoor's. */
static bool keeps_own(const struct space *space, pid_t tid) {
    return space && space->slabs.count && thread_get_lane(tid) && lane_lookup_is_taken(space, tid);
}

/* While the space is paused, the program may use the register. */
void lane_lookup_give(struct space *space, pid_t tid, taddr_t lane) {
    if (!space || !space_is_paused(space) || !keeps_own(space, tid))
        thread_set_lane(tid, lane);
}

void lane_lookup_give_new(struct space *space, pid_t tid, taddr_t lane, pid_t maker) {
    (void)maker;
    lane_lookup_give(space, tid, lane);
}

void lane_lookup_pass(struct space *space, pid_t tid, taddr_t lane, pid_t maker) {
    (void)maker;
    lane_lookup_give(space, tid, lane);
}

void lane_lookup_leave(struct space *space, pid_t tid, taddr_t lane) {
    if (!keeps_own(space, tid))
        lane_lookup_give(space, tid, lane);
}

void lane_lookup_expect(struct space *space, pid_t tid) {
    (void)space;
    (void)tid;
}

void lane_lookup_unassign(struct space *space, pid_t tid) {
    (void)space;
    (void)tid;
}

void lane_lookup_tell_apart(struct space *space) { (void)space; }

taddr_t lane_lookup_lane(const struct space *space, pid_t tid) {
    (void)space;
    return thread_get_lane(tid);
}

void lane_lookup_forget(struct space *space, pid_t tid) {
    (void)space;
    (void)tid;
}

uint64_t lane_lookup_mark(pid_t tid) { return thread_get_lane(tid); }

uint64_t lane_lookup_mark_with(pid_t tid, taddr_t lane) {
    (void)tid;
    return lane;
}

/* No two processes have the same mark. */
bool lane_lookup_may_belong(const struct space *space, taddr_t lane, pid_t copy) {
    (void)space;
    (void)lane;
    (void)copy;
    return true;
}

int lane_lookup_install(const struct space *space, taddr_t area, struct err *err) {
    (void)space;
    (void)area;
    (void)err;
    return 0;
}

void lane_lookup_copy(struct lane_lookup *to, const struct lane_lookup *from) {
    (void)from;
    *to = (struct lane_lookup){.full = false};
}

void lane_lookup_done(struct lane_lookup *lookup) { (void)lookup; }

bool lane_lookup_is_requested(const struct space *space) {
    (void)space;
    return false;
}

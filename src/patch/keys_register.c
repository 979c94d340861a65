/* Lanes hang off a register of each thread. */
#include "patch/keys.h"
#include "target/thread.h"

void keys_give(struct space *space, pid_t tid, taddr_t lane) {
    (void)space;
    thread_set_lane(tid, lane);
}

void keys_give_newborn(struct space *space, pid_t tid, taddr_t lane, pid_t maker) {
    (void)maker;
    keys_give(space, tid, lane);
}

void keys_pass(struct space *space, pid_t tid, taddr_t lane, pid_t maker) {
    (void)maker;
    keys_give(space, tid, lane);
}

void keys_leave(struct space *space, pid_t tid, taddr_t lane) { keys_give(space, tid, lane); }

void keys_expect(struct space *space, pid_t tid) {
    (void)space;
    (void)tid;
}

void keys_take_back(struct space *space, pid_t tid) {
    (void)space;
    (void)tid;
}

void keys_tell_apart(struct space *space) { (void)space; }

taddr_t keys_lane(const struct space *space, pid_t tid) {
    (void)space;
    return thread_get_lane(tid);
}

void keys_forget(struct space *space, pid_t tid) {
    (void)space;
    (void)tid;
}

uint64_t keys_mark(pid_t tid) { return thread_get_lane(tid); }

/* No two have the same. */
bool keys_may_be_of(const struct space *space, taddr_t lane, pid_t copy) {
    (void)space;
    (void)lane;
    (void)copy;
    return true;
}

int keys_install(const struct space *space, taddr_t area, struct err *err) {
    (void)space;
    (void)area;
    (void)err;
    return 0;
}

void keys_copy(struct keys *to, const struct keys *from) {
    (void)from;
    *to = (struct keys){.full = false};
}

void keys_done(struct keys *keys) { (void)keys; }

bool keys_are_asked_for(const struct space *space) {
    (void)space;
    return false;
}

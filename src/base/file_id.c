/* Tells whether a file is the same as before. */
#include "base/file_id.h"

#include <time.h>

static int64_t ns_of(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

/* Whether a change now might leave TIME as it is. Some file systems keep whole seconds, or two. */
static bool is_fresh(struct timespec time, struct timespec now) {
    enum { COARSE_NS = 2000000000 };
    return ns_of(time) + (time.tv_nsec ? 0 : COARSE_NS) >= ns_of(now);
}

struct file_id file_id_of(const struct stat *st) {
    struct timespec now; /* the clock of file systems */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (struct file_id){.device = st->st_dev,
                            .inode = st->st_ino,
                            .size = (uint64_t)st->st_size,
                            .changed_ns = ns_of(st->st_ctim),
                            .fresh = is_fresh(st->st_ctim, now)};
}

bool file_id_is_same(const struct file_id *a, const struct file_id *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->changed_ns == b->changed_ns && !a->fresh && !b->fresh;
}

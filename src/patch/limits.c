/* Raises a target's RLIMIT_AS and RLIMIT_NOFILE for spoor's mappings and files, and lowers them
 * again. */
#include "patch/limits.h"

#include <errno.h>
#include <string.h>

/* A limit that the program has changed since does not contain spoor's part any more. */
static bool is_raised(const struct space *space, const struct rlimit *limit) {
    return space->limit.added && limit->rlim_cur == space->limit.now;
}

int limits_raise(struct space *space, pid_t tid, size_t bytes, struct err *err) {
    struct rlimit limit;
    if (prlimit(tid, RLIMIT_AS, NULL, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    uint64_t added = is_raised(space, &limit) ? space->limit.added : 0;
    limit.rlim_cur += bytes;
    if (limit.rlim_max < limit.rlim_cur)
        limit.rlim_max = limit.rlim_cur;
    if (prlimit(tid, RLIMIT_AS, &limit, NULL) < 0)
        return err_set(
            err, errno, "memory-limit",
            "process %d: its memory is limited, and what tracing takes cannot be added to "
            "the limit: %s: raise the hard limit (ulimit -H -v), or run spoor as root",
            space->pid, strerror(errno));
    space->limit.now = limit.rlim_cur;
    space->limit.added = added + bytes;
    return 0;
}

void limits_lower(struct space *space, pid_t tid) {
    struct rlimit limit;
    if (space->limit.added && prlimit(tid, RLIMIT_AS, NULL, &limit) == 0 &&
        is_raised(space, &limit)) {
        if (limit.rlim_max == limit.rlim_cur)
            limit.rlim_max -= space->limit.added;
        limit.rlim_cur -= space->limit.added;
        prlimit(tid, RLIMIT_AS, &limit, NULL);
    }
    space->limit.added = 0;
}

bool limits_allow_file(pid_t tid, struct rlimit *ret_before) {
    struct rlimit more;
    if (prlimit(tid, RLIMIT_NOFILE, NULL, &more) < 0)
        return false;
    *ret_before = more;
    more.rlim_cur++;
    if (more.rlim_max < more.rlim_cur)
        more.rlim_max = more.rlim_cur;
    return prlimit(tid, RLIMIT_NOFILE, &more, NULL) == 0;
}

void limits_take_back_file(pid_t tid, const struct rlimit *before) {
    prlimit(tid, RLIMIT_NOFILE, before, NULL);
}

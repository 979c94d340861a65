/* Makes, forks and ends address spaces. */
#include "patch/space_lifecycle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "patch/install.h"
#include "patch/modules.h"
#include "patch/patcher.h"
#include "patch/permits.h"
#include "patch/unpatch.h"
#include "target/candidate.h"
#include "target/memory.h"
#include "target/status.h"
#include "wire/undo.h"

int space_new(const struct space_context *ctx, pid_t tid, struct space **ret, struct err *err) {
    struct space *s = space_new_untraced(tid);
    int rc = candidate_check_program(tid, err);
    s->filter = ctx->filter;
    if (rc == 0)
        rc = space_install(ctx, s, tid, err);
    if (rc == 0 && ctx->paused)
        space_set_state(s, SPACE_PAUSED);
    if (rc < 0) {
        space_unref(s);
        return rc;
    }
    *ret = s;
    return 0;
}

int space_new_prepared(const struct space_context *ctx, pid_t tid, struct space **ret,
                       struct err *err) {
    struct space *s = space_new_untraced(tid);
    AUTO_FREE pid_t *threads = NULL;
    int rc = candidate_check_program(tid, err);
    s->threads = status_threads(tid, &threads);
    memory_open(tid, &s->remote.memory_fd,
                NULL); /* to compare text early; on error that is done later */
    if (rc == 0)
        rc = space_prepare(ctx, s, tid, err);
    if (rc < 0) {
        space_unref(s);
        return rc;
    }
    *ret = s;
    return 0;
}

/* Whether SLAB is mapped in S at its address. */
static bool has_slab(const struct space *s, const struct slab *slab) {
    struct undo_sign sign;
    return memory_read(s->remote.memory_fd, slab->at + UNDO_SIGN_AT, &sign, sizeof sign, NULL) ==
               0 &&
           sign.magic == UNDO_MAGIC && sign.self == slab->at;
}

void space_forget_unmapped(struct space *s) {
    uint64_t word;
    size_t slabs = 1, modules = 0; /* the first slab is as old as the space */
    for (size_t i = 1; i < s->slabs.count; i++) {
        struct slab *slab = s->slabs.at[i];
        if (has_slab(s, slab))
            s->slabs.at[slabs++] = slab;
        else
            slab_unref(slab);
    }
    for (size_t i = 0; i < s->modules.count; i++) {
        struct patched p = s->modules.at[i];
        if (!p.code || memory_read(s->remote.memory_fd, p.area, &word, sizeof word, NULL) == 0)
            s->modules.at[modules++] = p;
        else
            patched_forget(&p);
    }
    s->slabs.count = s->slabs.count ? slabs : 0;
    s->modules.count = modules;
}

static struct inherited *copy_inherited(const struct inherited *from) {
    struct inherited *copy = mem_alloc(sizeof *copy);
    copy->agent_stays = from->agent_stays;
    for (size_t i = 0; i < from->files.count; i++)
        ARRAY_PUSH(&copy->files, from->files.at[i]);
    return copy;
}

struct space *space_fork(const struct space *parent, pid_t tid, struct err *err) {
    int fd;
    bool opened = memory_open(tid, &fd, err) == 0;
    if (!opened)
        fd = fcntl(parent->remote.memory_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return NULL;
    struct space *s = mem_alloc(sizeof *s);
    *s = *parent;
    s->borrowed = !opened;
    s->refs = 1;
    s->pid = tid;
    s->remote.memory_fd = fd;
    s->callers = NULL;
    s->begins = false;
    s->stopping = false; /* the parent may be stopping */
    memset(&s->slabs, 0, sizeof s->slabs);
    memset(&s->modules, 0, sizeof s->modules);
    memset(&s->prepared, 0, sizeof s->prepared);
    memset(&s->writable, 0, sizeof s->writable);
    s->parked = NULL;
    s->itimers.stops = 0; /* a forked process has no timers */
    if (s->inherited)
        s->inherited = copy_inherited(s->inherited);
    lane_lookup_copy(&s->lookup, &parent->lookup);
    for (size_t i = 0; i < parent->slabs.count; i++)
        ARRAY_PUSH(&s->slabs, slab_ref(parent->slabs.at[i]));
    for (size_t i = 0; i < parent->modules.count; i++) {
        struct patched copy = patched_copy(&parent->modules.at[i]);
        if (s->state == SPACE_COMING) /* later writes are not in the copy */
            copy.state = AREA_EMPTY, copy.checked = false;
        ARRAY_PUSH(&s->modules, copy);
    }
    if (opened)
        space_forget_unmapped(s);
    return s;
}

int space_uninstall(struct space *s, pid_t caller, struct err *err) {
    int rc = permits_check(s, caller, PERMIT_LEAVE, "the memory that tracing took stays", err);
    bool kept = s->inherited && s->inherited->agent_stays;
    for (size_t i = 0; i < s->modules.count && rc == 0; i++) {
        kept |= s->modules.at[i].kept;
        if (!s->modules.at[i].kept)
            rc = patcher_unmap(&s->modules.at[i], s, caller, err);
    }
    if (rc == 0 && kept)
        return err_set(
            err, EBUSY, "returns-later",
            "process %d: a thread may yet come back from a signal handler to a trampoline: the "
            "memory that tracing took stays until 'spoor detach %d' finds that no thread does",
            s->pid, s->pid);
    return rc < 0 ? rc : space_unmap_agent(s, caller, err);
}

int space_undo(struct space *s, pid_t caller, struct err *err) {
    int rc = space_restore_for_good(s, caller, err);
    return rc < 0 ? rc : space_uninstall(s, caller, err);
}

/* Takes the patches of a space away, writes them again, or replaces them. */
#include "patch/unpatch.h"

#include "patch/breakpoints.h"
#include "patch/install.h"
#include "patch/left_out.h"
#include "patch/modules.h"
#include "patch/pages.h"
#include "patch/patcher.h"
#include "target/maps.h"

static void note_unpatched(struct space *s, enum space_state state) {
    breakpoints_count(s);
    space_set_state(s, state);
    s->traps.armed = false; /* the program may change its action at SIGTRAP unseen */
}

int space_unpatch(struct space *s, pid_t tid, struct err *err) {
    int rc = space_restore(s, tid, err);
    note_unpatched(s, SPACE_PAUSED);
    return rc;
}

int space_give_up(struct space *s, pid_t tid, struct err *err) {
    int rc = space_restore(s, tid, err);
    note_unpatched(s, SPACE_GIVEN_UP);
    return rc;
}

int space_unpatch_for_good(struct space *s, pid_t caller, struct err *err) {
    int rc = space_restore_for_good(s, caller, err);
    if (rc < 0)
        return rc;
    note_unpatched(s, SPACE_LEAVING);
    return 0;
}

/* Patches P again; if that fails, P is left untraced. */
static void repatch_module(const struct space_context *ctx, const struct space *s, pid_t caller,
                           struct patched *p) {
    struct err err = {0};
    if (!p->code)
        return;
    if (patcher_redo(p, s, &err) == 0) {
        if (p->in_trace && !p->first)
            left_out_write(ctx, s, p);
        return;
    }
    modules_warn(ctx, caller, &err);
    if (p->state == AREA_UNPATCHABLE || patcher_undo(p, s->remote.memory_fd, NULL, NULL) < 0)
        return;
    patcher_unmap(p, s, caller, NULL);
    patched_forget(p);
}

int space_repatch(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    struct maps maps;
    int rc = modules_read_maps(caller, &maps, err);
    if (rc < 0)
        return rc;
    writable_text_set(&s->writable, &maps);
    modules_drop_gone(s, caller, &maps);
    for (size_t i = 0; i < s->modules.count; i++)
        repatch_module(ctx, s, caller, &s->modules.at[i]);
    space_set_state(s, SPACE_PATCHED);
    breakpoints_withdraw_again(s);
    rc = space_check_sandbox(s, caller, err);
    if (rc == 0)
        modules_follow(ctx, s, caller, &maps);
    maps_done(&maps);
    return rc;
}

int space_replace(const struct space_context *ctx, struct space *s, pid_t caller, struct err *err) {
    int rc = space_restore(s, caller,
                           err); /* even if unpatched: the program may have changed some text */
    for (size_t i = 0; i < s->modules.count && rc == 0; i++)
        rc = patcher_unmap(&s->modules.at[i], s, caller, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->modules.count; i++)
        patched_forget(&s->modules.at[i]);
    s->modules.count = 0;
    space_set_state(s, SPACE_PATCHED);
    s->traps.armed = false;
    s->filter = ctx->filter;
    return space_update(ctx, s, caller, err);
}

/* Restores all text. CALLER is TID, or 0. */
static int restore(struct space *s, pid_t tid, pid_t caller, struct err *err) {
    struct pages pages;
    struct maps maps;
    int rc = modules_read_maps(tid, &maps, err);
    if (rc < 0)
        return rc;
    pages_begin(&pages, s, caller, tid, &maps);
    for (size_t i = s->modules.count; i-- > 0;) {
        struct patched *p = &s->modules.at[i]; /* it may be unmapped, and not reported yet */
        int failed = modules_still_mapped(s, &maps, p)
                         ? patcher_undo(p, s->remote.memory_fd, &pages, err)
                         : 0;
        rc = rc < 0 ? rc : failed;
    }
    pages_end(&pages);
    maps_done(&maps);
    return rc;
}

int space_restore(struct space *s, pid_t tid, struct err *err) { return restore(s, tid, 0, err); }

int space_restore_for_good(struct space *s, pid_t caller, struct err *err) {
    return restore(s, caller, caller, err);
}

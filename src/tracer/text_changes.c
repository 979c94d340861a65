/* Takes patches out of text that becomes writable, and writes them when it is so no longer. */
#include "tracer/text_changes.h"

#include "patch/breakpoints.h"
#include "patch/held.h"
#include "patch/lane_guard.h"
#include "patch/left_out.h"
#include "patch/modules.h"
#include "patch/settle.h"
#include "target/maps.h"
#include "tracer/repatch.h"
#include "tracer/stopping.h"
#include "tracer/tracer.h"

static bool concerns(const struct space *space, const struct guard_call *call) {
    bool any = false;
    for (size_t i = 0; i < space->modules.count && !any; i++) {
        const struct patched *p = &space->modules.at[i];
        any = held_concerns(p, call->pages) && (call->writes || p->held);
    }
    return any && space->state == SPACE_PATCHED;
}

static void settle_all(const struct tracer *t, const struct space *space) {
    enum settled settled;
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        settle_step_out(space, k->tid, k->lane, &settled);
}

/* Returns whether patches were written. */
static bool update(struct tracer *t, struct space *space, pid_t tid, const struct guard_call *call,
                   const struct thread_positions *positions) {
    const struct space_context *ctx = &t->options.context;
    const struct held_change change = {space->remote.memory_fd, call->pages, &space->writable,
                                       positions};
    bool written = false;
    for (size_t i = 0; i < space->modules.count; i++) {
        struct patched *p = &space->modules.at[i];
        struct err err = {0};
        if (!held_concerns(p, call->pages))
            continue;
        if (held_update(p, &change, &written, &err) < 0)
            tracer_warn(t, tid, &err);
        if (p->in_trace && !p->first)
            left_out_write(ctx, space, p);
    }
    breakpoints_count(space);
    return written;
}

/* The threads are in the program's own code. FRAMES, unless it is NULL, gets the calls that are
 * open when patches are written. Returns whether some were. */
static bool change(struct tracer *t, struct space *space, pid_t tid, const struct guard_call *call,
                   struct open_frames *frames) {
    struct thread_positions positions = {.pcs = {0}};
    struct maps maps;
    struct err err = {0};
    if (modules_read_maps(tid, &maps, &err) < 0) {
        tracer_warn(t, tid, &err);
        return false;
    }
    writable_text_set(&space->writable, &maps);
    maps_done(&maps);
    writable_text_change(&space->writable, call->pages, call->writes);
    if (frames)
        repatch_look(t, space, frames, &positions);
    bool written = update(t, space, tid, call, &positions);
    if (written)
        repatch_set_streams(t, space, frames);
    thread_positions_done(&positions);
    return written;
}

static void release(struct tracer *t, struct space *space, struct task *task) {
    task_pause_release(task);
    resume_changed_space(t, space, PAUSE_DLOPEN);
}

bool text_changes_serve(struct tracer *t, struct space *space, struct task *task,
                        const struct guard_call *call) {
    pid_t tid = task->tid;
    if (!concerns(space, call)) {
        release(t, space, task);
        return true;
    }
    settle_all(t, space);
    struct open_frames *frames = call->writes ? NULL : open_frames_new(space);
    bool written = change(t, space, tid, call, frames);
    if (!lane_guards_are_set(space)) {
        open_frames_free(frames);
        return false;
    }
    guard_pass(space, tid);
    release(t, space, task);
    if (written)
        repatch_write_calls(t, frames);
    open_frames_free(frames);
    return true;
}

/* Gives, prepares and closes the lanes of tasks. */
#include "tracer/task_lane.h"

#include "arch/clock.h"
#include "patch/install.h"
#include "ring/callers.h"
#include "ring/kept_calls.h"
#include "ring/thin.h"
#include "ring/within.h"
#include "target/cpu.h"
#include "target/timing.h"
#include "tracer/identity.h"
#include "tracer/open_frames.h"
#include "tracer/thread_names.h"
#include "unwind/own_stack.h"

/* TASK has a lane, and has not run yet: marks the lanes that share its memory. */
static void note_shared(struct tracer *t, struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k)) {
        if (k == task || k->space != task->space)
            continue;
        atomic_store(&task->lane->shared, true);
        if (k->lane)
            atomic_store(&k->lane->shared, true);
    }
}

/* Whether TASK's parent is suspended in vfork() until TASK execs or exits. */
static bool is_vfork_child(const struct tracer *t, const struct task *task) {
    for (struct task *k = tasks_next(&t->tasks, NULL); k; k = tasks_next(&t->tasks, k))
        if (k->vfork_child == task->tid)
            return true;
    return false;
}

void task_lane_set(const struct tracer *t, const struct task *task, taddr_t lane) {
    if (is_vfork_child(t, task))
        lane_lookup_pass(task->space, task->tid, lane, task->creator);
    else
        lane_lookup_give_new(task->space, task->tid, lane, task->creator);
}

/* With --stack: prepares TASK's lane to record the callers of its entries. */
static void record_callers(const struct space_context *ctx, struct task *task, bool running) {
    uint32_t most = ctx->options->stacks.frames;
    enum own_stack_of which = running ? OWN_STACK_OF_RUNNING : OWN_STACK_OF_NEWBORN;
    if (!most)
        return;
    if (task->readable.start == task->readable.end)
        task->readable =
            own_stack(task->tid, task->tid == task->pid ? OWN_STACK_OF_FIRST : which, &task->stack);
    if (!task->space->callers)
        task->space->callers =
            callers_new(task->tid, most, module_table_stack_functions(ctx->module_table));
    task->lane->callers = callers_ref(task->space->callers);
    uint32_t bytes = slice_bytes_for(most, ctx->ring_bytes);
    lane_handle_set_slices(task->lane, bytes | (cpu_tags_memory() ? SLICE_TAGGED : 0),
                           task->readable);
}

/* THREAD describes TASK. RUNNING: it has run before, and has open calls. */
static void give_lane(struct tracer *t, struct task *task, struct trace_thread *thread,
                      bool running) {
    const struct space_context *ctx = &t->options.context;
    task->stream = t->next_stream++;
    task->lane = space_take_lane(ctx, task->space, task->tid, task->stream);
    task_lane_set(t, task, task->lane->at);
    task->mark = lane_lookup_mark_with(task->tid, task->lane->at);
    thread->stream = task->stream;
    trace_writer_thread(ctx->writer, thread);
    thread_names_begin(task, thread->name);
    if (task->lane->unread)
        return;
    lane_handle_assign(task->lane, thread);
    task->lane->values.captures = module_table_captures(ctx->module_table);
    record_callers(ctx, task, running);
    if (running || thread->maker)
        kept_calls_all(task->lane);
    const struct record_options *o = options_of(t);
    if (o->depth || o->threshold_ns) {
        struct thin_options thin = {ctx->writer, o->depth, timing_ticks(o->threshold_ns)};
        task->lane->thin = thin_new(&thin, thread);
        note_shared(t, task);
    }
    const struct triggers *during = module_table_during(ctx->module_table);
    if (during)
        task->lane->within = within_new(during, thread);
    if (running)
        drain_add_running(t->options.drain, task->lane);
    else
        drain_add(t->options.drain, task->lane);
}

/* TASK, about to run, goes on with the stack of its maker: so it begins with its maker's calls.
 * With a stack of its own (posix_spawn(), clone()) it does not. */
static void begin_as_maker(struct task *task, struct trace_thread *thread) {
    struct birth b = task->birth;
    struct regs regs;
    task->birth = (struct birth){0};
    if (!b.maker || thread_get_regs(task->tid, &regs) < 0 || regs_sp(&regs) != b.sp)
        return;
    thread->maker = b.maker;
    thread->shares = b.shares;
    thread->start = b.ticks;
    thread->stack_low = b.stack.start;
    thread->stack_high = b.stack.end;
}

void task_lane_give(struct tracer *t, struct task *task) {
    struct trace_thread thread;
    if (!task->space)
        return;
    identity_of_thread(task, &thread);
    begin_as_maker(task, &thread);
    give_lane(t, task, &thread, false);
}

void task_lane_join(struct tracer *t, struct task *task, const struct maps *maps) {
    struct trace_thread thread;
    identity_of_running(task->tid, task->pid, maps, &thread);
    give_lane(t, task, &thread, true);
}

/* A thread without a lane of its own has ended: its events in the sink are lost. */
static void leave_sink(struct tracer *t, const struct task *task) {
    struct trace_writer *w = t->options.context.writer;
    uint64_t lost = slab_sink_lost(task->lane);
    if (lost)
        trace_writer_lost(w, task->stream, clock_ticks(), lost);
    trace_writer_thread_end(w, task->stream, clock_ticks());
}

/* Threads that have lanes may still have written to the sink (lane_lookup.h). */
static void count_lost(struct tracer *t, const struct task *task) {
    uint64_t lost = slab_sink_lost(slab_sink(task->space->slabs.at[0]));
    if (lost)
        trace_writer_lost(t->options.context.writer, task->stream, clock_ticks(), lost);
}

void task_lane_close(struct tracer *t, struct task *task) {
    if (task->lane && !task->lane->unread && task->space && task->space->lookup.loses_events)
        count_lost(t, task);
    if (task->lane && task->lane->unread)
        leave_sink(t, task);
    else if (task->lane)
        drain_close(t->options.drain, task->lane,
                    task->fatal_ticks ? task->fatal_ticks : clock_ticks());
    task->lane = NULL;
    lane_lookup_forget(task->space, task->tid);
}

/* Does what was done for the other tasks while all were stopped. In a pause open calls are not
 * written. */
void task_lane_join_late(struct tracer *t, struct task *task) {
    struct open_frames *frames = open_frames_new(task->space);
    task_set_stage(task, TASK_READY);
    if (!space_is_unpatched(task->space))
        open_frames_copy(frames, task->tid);
    if (!task->lane) {
        struct maps maps = {0};
        maps_read(task->tid, &maps, NULL);
        thread_watch_exit(task->tid, task->tid == task->pid);
        task_lane_join(t, task, &maps);
        maps_done(&maps);
    }
    open_frames_set_time(frames);
    if (!task->lane->unread)
        kept_calls_all(task->lane);
    if (!task->lane->unread)
        open_frames_set_stream(frames, task->tid, task->stream, task->lane);
    open_frames_write(frames, t->options.drain);
    open_frames_free(frames);
}

#include "tracer/late_join.h"

#include "tracer/open_frames.h"
#include "tracer/task_lane.h"

/* Does what happened to the other tasks while all stood. In a pause open calls are not written. */
void late_join(struct tracer *t, struct task *task) {
    struct open_frames *frames = open_frames_new(task->space);
    task->stage = TASK_READY;
    if (!space_is_lifted(task->space))
        open_frames_copy(frames, task->tid);
    if (!task->slot) {
        struct maps maps = {0};
        maps_read(task->tid, &maps, NULL);
        thread_watch_exit(task->tid, task->tid == task->pid);
        task_lane_join(t, task, &maps);
        maps_done(&maps);
    }
    open_frames_set_time(frames);
    if (!task->slot->unread)
        open_frames_set_stream(frames, task->tid, task->stream, task->slot);
    open_frames_write(frames, t->options.drain);
    open_frames_free(frames);
}

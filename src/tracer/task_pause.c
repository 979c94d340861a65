/* Gives pauses of tasks to the streams of their lanes. */
#include "tracer/task_pause.h"

#include "arch/clock.h"
#include "tracer/tracer_state.h"

void task_pause_begin(struct task *task) {
    task->pause = (struct task_pause){.since = clock_ticks()};
}

void task_pause_note(struct task *task, enum pause_cause cause) {
    if (!task->pause.noted)
        task->pause.cause = cause;
    task->pause.noted = true;
}

void task_pause_note_all(const struct tracer *t, const struct space *space,
                         enum pause_cause cause) {
    for (struct task *k = NULL; (k = tasks_next_stopped(&t->tasks, k, space));)
        task_pause_note(k, cause);
}

void task_pause_release(struct task *task) {
    task->pause.since = lane_handle_wait_since(task->lane, task->pause.since);
    task->lane->lane->wait_since = 0;
    __atomic_store_n(&task->lane->lane->hook, 0, __ATOMIC_RELEASE);
}

void task_pause_end(struct task *task) {
    const struct task_pause *p = &task->pause;
    uint32_t id = PAUSE_EVENT + (uint32_t)p->cause + (p->in_call ? PAUSE_IN_CALL : 0);
    if (p->noted && task->lane && !task->lane->unread)
        pauses_add(&task->lane->pauses, &(struct pause){p->since, clock_ticks(), id});
    task->pause.noted = false;
}

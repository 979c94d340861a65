/*
 * The drainers: threads that read all active lanes into the trace as fast as they fill. Each lane
 * belongs to one of them. They wake the tracer when a thread waits in the dynamic linker's hook.
 */
#pragma once

#include "ring/lanes.h"
#include "trace/writer.h"

struct drain;
struct flight;

struct drain_options {
    struct trace_writer *writer;
    enum overflow overflow;
    int hook_event;        /* eventfd, written when a lane's hook flag is seen */
    struct flight *flight; /* NULL: no snapshots */
    bool cut;              /* the trace is cut into parts */
    unsigned most; /* drainers; 0: by the number of processors, and by whether they have priority */
};

/* Starts the first drainer. All functions below are for one thread. */
int drain_start(const struct drain_options *options, struct drain **ret, struct err *err);
/* HANDLE is ready (slab_take) and its thread is about to run: makes it active. */
void drain_add(struct drain *d, struct lane_handle *handle);
/* The same for a thread that was running before it was traced. drain_frames() follows with the
 * calls that it had open; with depth or threshold its events wait for them. */
void drain_add_running(struct drain *d, struct lane_handle *handle);
/* FRAMES: the calls that HANDLE's thread, which was stopped, had open after all its events so far.
 * Called by the tracer. */
void drain_frames(struct drain *d, struct lane_handle *handle, const struct trace_frames *frames);
/* HANDLE's thread has ended or is detached at TICKS: the rest of the ring is read, then the lane is
 * free. */
void drain_close(struct drain *d, struct lane_handle *handle, uint64_t ticks);
/* Waits until all lanes are read, and ends the thread. All lanes must have been closed. */
void drain_finish(struct drain *d);

/*
 * The tool's side of lanes (wire/ring.h). A slab is one shared mapping with many lanes; address
 * spaces that come from one another by fork share slabs.
 *
 * The tracer takes and closes lanes. The drainer reads rings, advances limits and frees closed
 * lanes. A lane's state is atomic and says which of the two may touch it.
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/mem.h"
#include "base/types.h"
#include "ring/epochs.h"
#include "ring/pauses.h"
#include "ring/slices.h"
#include "ring/stalls.h"
#include "ring/value_slots.h"
#include "trace/format.h"
#include "values/run.h"
#include "wire/ring.h"

/* A lane goes from FREE to ACTIVE (drain_add()), from there to CLOSING (drain_close()), and from
 * there to FREE (lane_handle_free()). */
enum lane_state {
    LANE_FREE,    /* the tracer may take it */
    LANE_ACTIVE,  /* its thread writes, the drainer reads */
    LANE_CLOSING, /* its thread has ended: the drainer reads the rest, then frees it */
};

struct callers;
struct call_judge;
struct thin;
struct watch;
struct within;
enum { THREAD_NAME_ROOM = 32 };

struct lane_handle {   /* the tool's side of one lane */
    struct lane *lane; /* mapped in the tool */
    taddr_t at;        /* in the target */
    _Atomic int state; /* enum lane_state; lane_handle_set_state() */
    struct lane *sink; /* the space's: a thread without a lane asks through the sink's hook
                          (lane_lookup.h) */
    uint32_t ring_bytes;
    uint32_t stream;
    unsigned drainer;    /* the number of the one that reads it */
    uint64_t tail;       /* drainer: bytes read */
    uint64_t limit;      /* drainer: as published in the lane */
    uint64_t last_clock; /* drainer: not newer than the next event */
    struct pauses pauses;
    struct stalls stalls;       /* drainer: what was lost and where */
    uint64_t lost;              /* of a sink: already reported */
    struct epochs epochs;       /* drainer; for rings that are overwritten */
    uint64_t end_ticks;         /* set before LANE_CLOSING */
    bool unread;                /* a sink: only lane, at, ring_bytes and lost are used */
    struct thin *thin;          /* drainer: depth and threshold filter, or NULL */
    struct within *within;      /* drainer: --while, or NULL */
    _Atomic bool shared;        /* other threads share its thread's memory, or have */
    struct stack_slice slice;   /* drainer: the slice that is being read */
    struct call_judge *judge;   /* drainer: the filter of --where, or NULL */
    struct value_slots values;  /* drainer: the values that are being read */
    struct callers *callers;    /* drainer: of its process; NULL: no slices are recorded */
    struct watch *watch;        /* drainer: what triggers snapshots, or NULL */
    struct trace_thread thread; /* as in the trace; its name is `name` */
    char name[THREAD_NAME_ROOM];
    struct trace_frames opened; /* drainer: calls open when tracing began; owns its list */
    bool in_snapshot;           /* drainer: the whole thread, its end included, is in a snapshot */
};

struct slab {
    unsigned refs;
    uint8_t *local;
    size_t size;
    taddr_t at; /* address in the target */
    uint32_t ring_bytes;
    uint32_t lane_count;
    struct lane_handle *handles;
    struct lane_handle sink;
};

/* How many lanes a slab gets for THREADS that need one (0: unknown); it may be fewer. */
uint32_t slab_lane_count(uint32_t ring_bytes, size_t threads);
size_t slab_bytes(uint32_t ring_bytes, uint32_t lanes);
/* FD: a memfd of slab_bytes(), mapped at AT in the target. NULL if it cannot be mapped here. When
 * the calling thread dies, threads that wait in the lanes notice. */
struct slab *slab_new(int fd, taddr_t at, uint32_t ring_bytes, uint32_t lanes);
/* Writes the address of the agent's page into the slab, for a tool that takes over. */
void slab_sign(struct slab *slab, taddr_t agent);
/* A killed tool's slab in the target: only at, size, slab_frame() and the address of its sink are
 * valid. */
struct slab *slab_of_another(taddr_t at, size_t size);
struct slab *slab_ref(struct slab *slab);
void slab_unref(struct slab *slab);
/* Unmaps slabs that no address space refers to and whose lanes are all drained. */
void slabs_reap(void);
/* Address in the target of the slab's memory for frames of remote calls. */
taddr_t slab_frame(const struct slab *slab);
/* SLAB_SCRATCH_BYTES that remote calls read and write: the address in the target, and in the
 * tool. */
enum { SLAB_SCRATCH_BYTES = 1024 };
taddr_t slab_scratch(const struct slab *slab);
void *slab_scratch_here(const struct slab *slab);

/* SLAB_SAVED_BYTES in the target for a thread of process PID on the bridge (crossing.h). Forked
 * processes that share the slab have places of their own. */
enum { SLAB_SAVED_BYTES = 64 };
taddr_t slab_saved(const struct slab *slab, pid_t pid);

/* The only way to change a lane's state. Asserts that this is the next one. */
void lane_handle_set_state(struct lane_handle *handle, enum lane_state state);

/* Records THREAD as the owner of HANDLE's lane. */
void lane_handle_assign(struct lane_handle *handle, const struct trace_thread *thread);

/* HANDLE's thread copies at most BYTES of its stack, whose readable part is STACK. */
void lane_handle_set_slices(struct lane_handle *handle, uint32_t bytes, struct span stack);

/* Records the calls that its thread had open; takes over FRAMES' list. Drainer only. */
void lane_handle_note_open(struct lane_handle *handle, struct trace_frames *frames);

/* HANDLE's lane is not read until another thread takes it. A thread that still writes there (its
 * parent hides it from tracers, CLONE_UNTRACED) does not wait on a full ring, as with the sink. */
void lane_handle_free(struct lane_handle *handle);
/* HANDLE's thread is stopped. Since when it waits for room or in the hook, in ticks; OTHERWISE: it
 * does not. */
uint64_t lane_handle_wait_since(const struct lane_handle *handle, uint64_t otherwise);
/* HANDLE's thread has waited in the agent and is about to leave it, or, stopped, was moved out. If
 * it waited, for CAUSE, that was a pause. */
void lane_handle_end_wait(struct lane_handle *handle, enum pause_cause cause);
/* HANDLE's thread, which is stopped, has left a stub before its end: what it has written above its
 * head is no event (wire/ring.h). */
void lane_handle_forget_begun(struct lane_handle *handle);
/* Writes an event on behalf of HANDLE's stopped thread. When the ring is full: waits for the
 * drainer, or counts the event as lost. */
void lane_handle_put(struct lane_handle *handle, uint32_t site, uint64_t sp,
                     enum overflow overflow);
/* The same, with the slots of the event's values. Instead of losing the event it leaves these out.
 */
struct lane_event {
    uint32_t site;
    uint64_t sp;
    const struct captured_slot *slots;
    size_t slot_count;
    enum overflow overflow;
};
void lane_handle_put_values(struct lane_handle *handle, const struct lane_event *event);

/*
 * The sink: the lane of threads that can have none of their own. Processes that could not be
 * restored have it, too, since patched code must find some lane. It is shared, always has room,
 * nobody reads it, and the dynamic linker's hook does not wait in it.
 */
struct lane_handle *slab_sink(struct slab *slab);
/* How many events went into SINK since the last call (an estimate: threads write at the same
 * time). */
uint64_t slab_sink_lost(struct lane_handle *sink);

/* Whether a lane is free. The drainer frees lanes meanwhile, but takes none. */
bool slab_has_lane(const struct slab *slab);
/* A free lane, made ready for a new thread, or NULL. LIMITLESS: it is never full (overwrite). */
struct lane_handle *slab_take(struct slab *slab, uint32_t stream, bool limitless);

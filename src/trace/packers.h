/*
 * Threads that pack blocks on processors that nothing else needs.
 *
 * They have the lowest priority, SCHED_IDLE: a traced program and the drainer go first. Such a
 * thread may stand for seconds wherever it is. So it holds no lock that others need, and allocates
 * nothing: it packs its first blocks, and later ones that are larger, with a higher priority. Jobs
 * are handed over by atomic states and semaphores; a thread that wants a job back does not wait for
 * it.
 *
 *     the sink            packers_offer()      packers_collect()
 *                              │                     ▲
 *     state of a job    FREE → QUEUED → PACKING → DONE → FREE
 *                              │
 *                              └→ CANCELLED → FREE
 *
 * All functions but packers_wake() and packers_wait() are called by one thread at a time: the sink
 * has a lock.
 */
#pragma once

#include "trace/block.h"

struct packers;
struct pack_job; /* belongs to the packers */

struct packers *packers_new(void); /* without threads */
/* Ends the threads. Those that are still packing finish that and end by themselves. */
void packers_free(struct packers *p);

/* Asks the threads to pack BLOCK, which then has a job, and must not change. Starts a thread if all
 * are busy. False: there are too many jobs, or there is no thread. */
bool packers_offer(struct packers *p, struct block *block);
/* Returns a block that has been packed, NULL: there is none. It has `packed`, and no raw payload,
 * unless the raw one is not larger. */
struct block *packers_collect(struct packers *p);
/* From now on packers_collect() does not return BLOCK, which may have a job. A thread may still
 * read its payload. */
void packers_withdraw(struct block *block);
/* Frees BLOCK, which was withdrawn: now, or when its thread is done with it. */
void packers_discard(struct block *block);
/* Whether no thread could be started. */
bool packers_missing(const struct packers *p);
/* Starts a thread of normal priority for each processor, but no more than COUNT. */
void packers_hurry(struct packers *p, size_t count);

/* Waits until a block is packed or packers_wake() is called; not longer than until DEADLINE_NS of
 * CLOCK_MONOTONIC (0: as long as it takes). */
void packers_wait(struct packers *p, uint64_t deadline_ns);
void packers_wake(struct packers *p);

/* What the files of threads and of remote calls share: single ptrace requests, and what a thread
 * reports meanwhile. */
#pragma once

#include <errno.h>
#include <sys/ptrace.h>

#include "target/thread.h"

static inline int request(int op, pid_t tid, void *addr, void *data) {
    return ptrace(op, tid, addr, data) < 0 ? -errno : 0;
}
/* Sets "remote-call" for RC, a negative result. Returns RC. */
int thread_call_error(struct err *err, pid_t tid, int rc);

/* The registers of a signal frame besides the general ones. BYTES: room for them. */
enum { EXTENDED_ROOM = 16384 };
struct regs_extended thread_get_extended(pid_t tid, uint8_t bytes[EXTENDED_ROOM]);

/* The kind of event-stop in which TID is; STOP_NONE: it is in a stop of another kind. */
enum stop_kind thread_event_stop(pid_t tid);
/* Notes a stop that can be redelivered. False: it is another one. */
bool thread_note_stop(struct meanwhile *m, const struct stop *stop);
/* TID is in the signal-delivery-stop of SIGNAL. True if an instruction of TID raised it. */
bool thread_is_raised(pid_t tid, int signal);
int thread_also_block(pid_t tid, int signal);
/* RC: result of the request before. If it is 0, waits for the thread's next report. */
int thread_then_wait(int rc, pid_t tid, struct stop *ret);

/* System calls that a stopped thread of the target makes for spoor. */
#pragma once

#include "patch/space.h"

/* TID, a thread of SPACE, makes CALL. A call that fails is an error, too. An mmap raises the
 * process's memory limit. Errors: "remote-call", "memory-limit", "too-many-maps". */
int space_call(struct space *space, pid_t tid, const struct remote_call *call, int64_t *ret,
               struct err *err);
/* Call NUMBER of TID had RESULT: if that is an error, sets it, as space_call() does. */
int space_call_failed(const struct space *space, pid_t tid, long number, int64_t result,
                      struct err *err);
/* Makes COUNT calls in a row (thread_calls()). False: none was made. Failed calls are not errors.
 */
bool space_calls(struct space *space, pid_t tid, struct remote_step *steps, size_t count);
/* Whether TID's process has too many mappings for another one; ERR then says so. */
bool space_maps_full(const struct space *space, pid_t tid, struct err *err);
/* Unmaps memory that CALLER has mapped for spoor. Errors: "remote-call". */
int space_unmap(const struct space *space, pid_t caller, taddr_t at, size_t size, struct err *err);

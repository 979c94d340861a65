/* Reads and writes a target's memory through /proc/PID/mem, which ignores page protection. So text
 * is never made writable. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

/* Opens TID's present address space. The descriptor stays with it, also when TID calls exec. */
int memory_open(pid_t tid, int *ret_fd, struct err *err);
int memory_read(int fd, taddr_t addr, void *out, size_t size, struct err *err);
/* Reads readable memory of TID, for large sizes faster. False: use memory_read(). */
bool memory_read_fast(pid_t tid, taddr_t addr, void *out, size_t size);
int memory_write(int fd, taddr_t addr, const void *bytes, size_t size, struct err *err);

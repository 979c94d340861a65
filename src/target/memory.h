/*
 * The memory of a target, through /proc/PID/mem: reads and writes ignore page
 * protection, so that text is never made writable (DESIGN.md, section 3).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/types.h"

/* A descriptor for the address space that TID has now; stays with it across exec. */
int memory_open(pid_t tid, int *ret_fd, struct err *err);
int memory_read(int fd, taddr_t addr, void *out, size_t size, struct err *err);
/* Of TID, if it may be read there: faster than memory_read() when it is much. False: it is to be
 * read by that. */
bool memory_read_fast(pid_t tid, taddr_t addr, void *out, size_t size);
int memory_write(int fd, taddr_t addr, const void *bytes, size_t size, struct err *err);

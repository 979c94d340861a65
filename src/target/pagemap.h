/* /proc/PID/pagemap: what stands behind a process's pages
 * (Documentation/admin-guide/mm/pagemap.rst). */
#pragma once

#include <sys/types.h>

#include "base/types.h"

/* −1: it cannot be opened. */
int pagemap_open(pid_t pid);
/* True if SIZE bytes at ADDR, private memory of a file, are the file's pages: the process, or
 * another one for it, has written none of them. FD: of pagemap_open(), or −1. */
bool pagemap_is_of_file(int fd, taddr_t addr, size_t size);

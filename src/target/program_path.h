/* The path by which a process's program was started: a link, perhaps. */
#pragma once

#include <sys/types.h>

#include "base/types.h"

enum { PROGRAM_PATH_ROOM = 4096 };

/* Reads it from the memory of TID (MEMORY_FD), where *RET_ADDR is its address. False: it is not
 * known, or does not lead to the program that TID runs, as the path of a script. */
bool program_path(pid_t tid, int memory_fd, char ret[PROGRAM_PATH_ROOM], taddr_t *ret_addr);

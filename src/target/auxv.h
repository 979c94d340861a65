/* The auxiliary vector: facts that the kernel gives a program at its start. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Entry TYPE (elf.h, AT_*) of process TID's auxiliary vector; 0: it has none. */
uint64_t auxv_value(pid_t tid, uint64_t type);

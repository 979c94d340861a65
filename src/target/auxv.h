/* The auxiliary vector: facts that the kernel gives a program at its start. */
#pragma once

#include <link.h>
#include <stdint.h>
#include <sys/types.h>

enum { AUXV_MOST = 128 };
struct auxv { /* of a process; the target has spoor's ELF class */
    size_t count;
    ElfW(auxv_t) entries[AUXV_MOST];
};

/* Reads process TID's auxiliary vector; it has no entries if that fails. */
void auxv_read(pid_t tid, struct auxv *ret);
/* Entry TYPE; 0: there is none. */
uint64_t auxv_entry(const struct auxv *auxv, uint64_t type);
/* Entry TYPE (elf.h, AT_*) of process TID's auxiliary vector; 0: it has none. */
uint64_t auxv_value(pid_t tid, uint64_t type);

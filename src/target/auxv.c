/* Reads /proc/TID/auxv. */
#include "target/auxv.h"

#include <fcntl.h>
#include <link.h>

#include "base/mem.h"

uint64_t auxv_value(pid_t tid, uint64_t type) {
    AUTO_FREE char *name = mem_printf("/proc/%d/auxv", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    enum { MOST = 128 };
    ElfW(auxv_t) entries[MOST]; /* the target has spoor's ELF class */
    ssize_t size = fd < 0 ? 0 : read(fd, entries, sizeof entries);
    for (ssize_t i = 0; i < size / (ssize_t)sizeof *entries && entries[i].a_type != AT_NULL; i++)
        if (entries[i].a_type == type)
            return entries[i].a_un.a_val;
    return 0;
}

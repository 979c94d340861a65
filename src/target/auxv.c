/* Reads /proc/TID/auxv. */
#include "target/auxv.h"

#include <fcntl.h>
#include <link.h>

#include "base/mem.h"

uint64_t auxv_value(pid_t tid, uint64_t type) {
    AUTO_FREE char *name = mem_printf("/proc/%d/auxv", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    ElfW(auxv_t) a; /* the target has spoor's ELF class */
    while (fd >= 0 && read(fd, &a, sizeof a) == (ssize_t)sizeof a && a.a_type != AT_NULL)
        if (a.a_type == type)
            return a.a_un.a_val;
    return 0;
}

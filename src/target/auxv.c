/* Reads /proc/TID/auxv. */
#include "target/auxv.h"

#include <fcntl.h>

#include "base/mem.h"

void auxv_read(pid_t tid, struct auxv *ret) {
    AUTO_FREE char *name = mem_printf("/proc/%d/auxv", tid);
    AUTO_FD int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, ret->entries, sizeof ret->entries);
    ret->count = size < 0 ? 0 : (size_t)size / sizeof *ret->entries;
}

uint64_t auxv_entry(const struct auxv *auxv, uint64_t type) {
    for (size_t i = 0; i < auxv->count && auxv->entries[i].a_type != AT_NULL; i++)
        if (auxv->entries[i].a_type == type)
            return auxv->entries[i].a_un.a_val;
    return 0;
}

uint64_t auxv_value(pid_t tid, uint64_t type) {
    struct auxv auxv;
    auxv_read(tid, &auxv);
    return auxv_entry(&auxv, type);
}

/* Reads entries of 64 bits, one for each page. */
#include "target/pagemap.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/page.h"

/* Of an entry. Pages that are neither present nor swapped out were never used, or were dropped: the
 * next use takes them from the file. Other marks than these (soft-dirty, exclusive) tell nothing of
 * contents. */
static const uint64_t PRESENT = UINT64_C(1) << 63, SWAPPED = UINT64_C(1) << 62,
                      OF_FILE = UINT64_C(1) << 61, GUARD = UINT64_C(1) << 58,
                      WATCHED = UINT64_C(1) << 57;

int pagemap_open(pid_t pid) {
    char name[32];
    snprintf(name, sizeof name, "/proc/%d/pagemap", pid);
    return open(name, O_RDONLY | O_CLOEXEC);
}

static bool is_of_file(uint64_t entry) {
    return !(entry & (SWAPPED | GUARD | WATCHED)) && (entry & OF_FILE || !(entry & PRESENT));
}

bool pagemap_is_of_file(int fd, taddr_t addr, size_t size) {
    enum { AT_ONCE = 512 };
    uint64_t entries[AT_ONCE];
    const uint64_t page = page_bytes(), first = addr / page, end = (addr + size + page - 1) / page;
    bool all = fd >= 0;
    for (uint64_t at = first, count; all && at < end; at += count) {
        count = end - at < AT_ONCE ? end - at : AT_ONCE;
        const size_t bytes = (size_t)count * sizeof *entries;
        all = pread(fd, entries, bytes, (off_t)(at * sizeof *entries)) == (ssize_t)bytes;
        for (uint64_t i = 0; all && i < count; i++)
            all = is_of_file(entries[i]);
    }
    return all;
}

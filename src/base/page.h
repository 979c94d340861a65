/* The kernel's pages: 4 KB on x86-64 and 32-bit Arm; 4, 16 or 64 KB on AArch64. */
#pragma once

#include <stdint.h>
#include <unistd.h>

enum { PAGE_MOST_BYTES = 65536 };

static inline uint64_t page_bytes(void) {
    static uint64_t bytes;
    if (!bytes)
        bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return bytes;
}
static inline uint64_t page_down(uint64_t at) { return at & -page_bytes(); }
static inline uint64_t page_up(uint64_t at) { return page_down(at + page_bytes() - 1); }

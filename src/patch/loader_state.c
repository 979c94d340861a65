/* Reads struct r_debug, whose address the dynamic linker stores in the program (DT_DEBUG). */
#include "patch/loader_state.h"

#include <elf.h>
#include <link.h>

#include "base/page.h"
#include "target/auxv.h"
#include "target/memory.h"

enum { MOST_HEADERS = 64, MOST_ENTRIES = 256 };

/* The program's dynamic section, in memory; 0: there is none, or it is not known. */
static taddr_t find_dynamic(const struct space *s, pid_t tid) {
    ElfW(Phdr) headers[MOST_HEADERS]; /* the target has spoor's ELF class */
    struct auxv auxv;
    auxv_read(tid, &auxv);
    const taddr_t at = auxv_entry(&auxv, AT_PHDR);
    const uint64_t count = auxv_entry(&auxv, AT_PHNUM);
    taddr_t dynamic = 0, bias = 0;
    bool known = false;
    if (!at || count > MOST_HEADERS ||
        memory_read(s->remote.memory_fd, at, headers, count * sizeof *headers, NULL) < 0)
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR) {
            bias = at - headers[i].p_vaddr;
            known = true;
        }
        if (headers[i].p_type == PT_DYNAMIC)
            dynamic = headers[i].p_vaddr;
    }
    return known && dynamic ? dynamic + bias : 0;
}

/* How many bytes of entries from AT on to read at once: to the end of the page, as it is wholly
 * mapped. An entry may lie on two pages. */
static size_t bytes_at_once(taddr_t at, size_t most) {
    const size_t rest = page_up(at + 1) - at, whole = rest - rest % sizeof(ElfW(Dyn));
    const size_t some = whole ? whole : sizeof(ElfW(Dyn));
    return some < most ? some : most;
}

/* 0: not known. */
static taddr_t find_debug(const struct space *s, pid_t tid) {
    ElfW(Dyn) entries[MOST_ENTRIES];
    taddr_t at = find_dynamic(s, tid);
    size_t left = at ? sizeof entries : 0;
    while (left) {
        const size_t size = bytes_at_once(at, left);
        if (memory_read(s->remote.memory_fd, at, entries, size, NULL) < 0)
            return 0;
        for (size_t i = 0; i < size / sizeof *entries; i++)
            if (entries[i].d_tag == DT_NULL || entries[i].d_tag == DT_DEBUG)
                return entries[i].d_tag == DT_DEBUG ? entries[i].d_un.d_ptr : 0;
        at += size;
        left -= size;
    }
    return 0;
}

bool loader_state_is_changing(const struct space *s, pid_t tid) {
    struct r_debug debug;
    const taddr_t at = find_debug(s, tid);
    return at && memory_read(s->remote.memory_fd, at, &debug, sizeof debug, NULL) == 0 &&
           debug.r_version >= 1 && debug.r_state != RT_CONSISTENT;
}

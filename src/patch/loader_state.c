/* Reads struct r_debug, whose address the dynamic linker stores in the program (DT_DEBUG). */
#include "patch/loader_state.h"

#include <elf.h>
#include <link.h>

#include "target/auxv.h"
#include "target/memory.h"

enum { MOST_HEADERS = 64, MOST_ENTRIES = 256 };

/* The program's dynamic section, in memory; 0: there is none, or it is not known. */
static taddr_t find_dynamic(const struct space *s, pid_t tid) {
    ElfW(Phdr) headers[MOST_HEADERS]; /* the target has spoor's ELF class */
    const taddr_t at = auxv_value(tid, AT_PHDR);
    const uint64_t count = auxv_value(tid, AT_PHNUM);
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

/* 0: not known. */
static taddr_t find_debug(const struct space *s, pid_t tid) {
    taddr_t at = find_dynamic(s, tid);
    for (int i = 0; at && i < MOST_ENTRIES; i++, at += sizeof(ElfW(Dyn))) {
        ElfW(Dyn) entry;
        if (memory_read(s->remote.memory_fd, at, &entry, sizeof entry, NULL) < 0 ||
            entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_DEBUG && entry.d_un.d_ptr)
            return entry.d_un.d_ptr;
    }
    return 0;
}

bool loader_state_is_changing(const struct space *s, pid_t tid) {
    struct r_debug debug;
    const taddr_t at = find_debug(s, tid);
    return at && memory_read(s->remote.memory_fd, at, &debug, sizeof debug, NULL) == 0 &&
           debug.r_version >= 1 && debug.r_state != RT_CONSISTENT;
}

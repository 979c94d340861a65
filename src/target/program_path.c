/* See program_path.h. */
#include "target/program_path.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "target/auxv.h"
#include "target/memory.h"

/* Reads a string of less than ROOM bytes, by page: the next one may not be mapped. */
static bool read_string(int fd, taddr_t at, char *ret, size_t room) {
    enum { PAGE = 4096 };
    for (size_t done = 0; done < room;) {
        size_t size = PAGE - (at + done) % PAGE;
        size = size < room - done ? size : room - done;
        if (memory_read(fd, at + done, ret + done, size, NULL) < 0)
            return false;
        if (memchr(ret + done, '\0', size))
            return true;
        done += size;
    }
    return false;
}

/* True if PATH, as TID sees it, is the program that TID runs. */
static bool leads_to_program(pid_t tid, const char *path) {
    const char *from = path[0] == '/' ? "root" : "cwd";
    AUTO_FREE char *there = mem_printf("/proc/%d/%s/%s", tid, from, path);
    AUTO_FREE char *program = mem_printf("/proc/%d/exe", tid);
    struct stat a, b;
    return stat(there, &a) == 0 && stat(program, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

bool program_path(pid_t tid, int memory_fd, char ret[PROGRAM_PATH_ROOM], taddr_t *ret_addr) {
    taddr_t at = auxv_value(tid, AT_EXECFN);
    if (!at || !read_string(memory_fd, at, ret, PROGRAM_PATH_ROOM) || !leads_to_program(tid, ret))
        return false;
    *ret_addr = at;
    return true;
}

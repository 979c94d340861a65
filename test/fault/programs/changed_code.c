/*
 * Maps a library's code by itself, as a loader of its own would. Then the ordinary loader reports
 * another library.
 *
 *     changed_code WHAT LIBRARY
 *
 *     changed    the code is changed in memory
 *     replaced   the file is replaced on disk
 *     removed    the file is removed
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "self_check.h"

static const char COPY[] = "copy.so";

static void copy_file(const char *from, const char *to) {
    char command[4096];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    check(system(command) == 0, "cp");
}

/* Maps the first executable segment of FD. */
static uint8_t *map_code(int fd, size_t *ret_size, int prot) {
    ElfW(Ehdr) header;
    ElfW(Phdr) p = {0};
    check(pread(fd, &header, sizeof header, 0) == sizeof header, "read");
    for (int i = 0; i < header.e_phnum && !(p.p_type == PT_LOAD && p.p_flags & PF_X); i++)
        check(pread(fd, &p, sizeof p, (off_t)(header.e_phoff + sizeof p * (size_t)i)) == sizeof p,
              "read");
    *ret_size = (p.p_filesz + 4095) & ~4095ul;
    uint8_t *code = mmap(NULL, *ret_size, prot, MAP_PRIVATE, fd, (off_t)p.p_offset & ~4095l);
    check(code != MAP_FAILED, "mmap");
    return code;
}

int main(int argc, char **argv) {
    check(argc == 3, "usage");
    size_t size;
    copy_file(argv[2], COPY);
    int fd = open(COPY, O_RDONLY);
    uint8_t *code = map_code(fd, &size, PROT_READ | PROT_WRITE);
    if (strcmp(argv[1], "changed") == 0)
        memset(code, 0xf4, size);
    uint8_t *before = memcpy(malloc(size), code, size);
    check(mprotect(code, size, PROT_READ | PROT_EXEC) == 0, "mprotect");
    if (strcmp(argv[1], "replaced") == 0) {
        copy_file("/bin/true", "other");
        check(rename("other", COPY) == 0, "rename");
    }
    if (strcmp(argv[1], "removed") == 0)
        check(unlink(COPY) == 0, "unlink");
    check(dlopen(argv[2], RTLD_NOW) != NULL, "dlopen"); /* spoor looks at the modules now */
    if (strcmp(argv[1], "changed") == 0)
        check(memcmp(before, code, size) == 0, "the code");
    check_work();
    return right();
}

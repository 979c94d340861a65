/*
 * A library is replaced on disk while it is mapped (renamed over, removed). While it is not mapped,
 * it is rewritten in place with its old times. Another library never had a name.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "twins.h"

static const char *const marks[2][TWIN_MARKS] = {TWIN_MARKS_OF("changing.so", "a"),
                                                 TWIN_MARKS_OF("changing.so", "b")};

static inline __attribute__((always_inline)) void copy(const char *from, const char *to) {
    static char buffer[1 << 20];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t size = read(in, buffer, sizeof buffer);
    if (write(out, buffer, (size_t)size) != size || close(in) != 0 || close(out) != 0)
        abort();
}

/* Copies FROM over TO, which keeps its modification time; its status change time changes. */
static inline __attribute__((always_inline)) void rewrite(const char *from, const char *to) {
    struct stat before, after;
    stat(to, &before);
    do {
        copy(from, to);
        utimensat(AT_FDCWD, to, (struct timespec[]){before.st_atim, before.st_mtim}, 0);
        stat(to, &after);
    } while (before.st_ctim.tv_sec == after.st_ctim.tv_sec &&
             before.st_ctim.tv_nsec == after.st_ctim.tv_nsec);
}

static NOINLINE void rename_over(char *const *twins) {
    ENTER;
    copy(twins[0], "./changing.so");
    copy(twins[1], "./next.so");
    struct twin old = twin_open(LM_ID_BASE, "./changing.so", marks[0]);
    rename("./next.so", "./changing.so");
    struct twin new = twin_open(LM_ID_NEWLM, "./changing.so", marks[1]);
    printf("%d %d\n", twin_use(&old, 1), twin_use(&new, 1));
    unlink("./changing.so");
    printf("%d %d\n", twin_use(&old, 2), twin_use(&new, 2));
    twin_close(&old);
    twin_close(&new);
    LEAVE;
}

static NOINLINE void write_anew(char *const *twins) {
    ENTER;
    copy(twins[0], "./changing.so");
    for (int i = 0; i < 6; i++) {
        struct twin t = twin_open(LM_ID_BASE, "./changing.so", marks[i % 2]);
        printf("%d\n", twin_use(&t, i));
        twin_close(&t);
        rewrite(twins[(i + 1) % 2], "./changing.so");
    }
    unlink("./changing.so");
    LEAVE;
}

static NOINLINE void load_from_memory(char *const *twins) {
    static const char *const nameless[TWIN_MARKS] = TWIN_MARKS_OF("memfd:nameless.so", "b");
    char path[64];
    ENTER;
    int fd = memfd_create("nameless.so", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    copy(twins[1], path);
    struct twin t = twin_open(LM_ID_BASE, path, nameless);
    printf("%d\n", twin_use(&t, 1));
    twin_close(&t);
    close(fd);
    LEAVE;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    ENTER;
    rename_over(argv + 1);
    write_anew(argv + 1);
    load_from_memory(argv + 1);
    LEAVE;
    expect_print();
    return 0;
}

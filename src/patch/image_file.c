/* See image_file.h. */
#include "patch/image_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "target/maps.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* since Linux 6.3; before, all are executable */
#endif

enum { MOST_FILES = 64 }; /* each is an open file of spoor */

static unsigned files;

static int new_file(void) {
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(CODE_IMAGE_NAME, flags | MFD_EXEC);
    return fd < 0 ? memfd_create(CODE_IMAGE_NAME, flags) : fd;
}

/* Writes the code as for the address for which it was emitted. */
static bool write_code(int fd, const struct plan_code *c) {
    enum { PIECE = 256 << 10 };
    AUTO_FREE uint8_t *bytes = mem_alloc(PIECE);
    size_t at = 0;
    for (size_t size; at < c->area_used; at += size) {
        size = plan_code_copy(c, 0, at, PIECE, bytes);
        if (pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size)
            return false;
    }
    return true;
}

int image_file_new(const struct plan_code *c, size_t bytes) {
    enum { SEALS = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    AUTO_FD int fd = files < MOST_FILES ? new_file() : -1;
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 || !write_code(fd, c) ||
        fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return -1;
    int made = fd;
    fd = -1;
    files++;
    return made;
}

void image_file_close(int fd) {
    if (fd <= 0)
        return;
    close(fd);
    files--;
}

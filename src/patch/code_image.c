/* See code_image.h. */
#include "patch/code_image.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/page.h"
#include "patch/image_file.h"
#include "patch/permits.h"
#include "patch/remote.h"
#include "target/maps.h"
#include "target/memory.h"

enum {
    LEAST_BYTES = 32 << 10, /* smaller areas are written as fast */
    MOST_WORDS = 64,        /* that are corrected: each costs a page */
    PATH_ROOM = 64
};

/* ---- the file ---- */

/* Whether P's code has a file, and the area is no larger. The log stands behind the code. Code that
 * is still packed is too large to keep twice. */
static bool has_file(const struct patched *p) {
    struct code *code = p->code;
    const struct plan_code *c = &code->emitted;
    if (!code->reused || c->source || c->area_used < LEAST_BYTES || c->address_count > MOST_WORDS)
        return false;
    if (!code->image_fd) {
        code->image_bytes = page_up(p->room);
        code->image_fd = image_file_new(&code->emitted, code->image_bytes);
    }
    return code->image_fd > 0 && p->area_size <= code->image_bytes;
}

/* ---- mapping it ---- */

/* Whether PATH leads the process of TID to the same file as spoor. */
static bool is_seen(pid_t tid, const char *path, int fd) {
    AUTO_FREE char *there = mem_printf("/proc/%d/root%s", tid, path);
    struct stat a, b;
    return stat(there, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

bool code_image_map(struct patched *p, const struct patch_request *r) {
    char path[PATH_ROOM];
    p->imaged = false;
    if (!r->space->remote.series || !has_file(p) || !permits(r->space, r->caller, PERMIT_IMAGE))
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), p->code->image_fd);
    if (!is_seen(r->caller, path, p->code->image_fd))
        return false;
    struct remote_step steps[] = {
        {.call = {SYS_openat, {(uint64_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC, 0}},
         .data = {1, strlen(path) + 1, path},
         .into = {{1, 4}, {2, 0}}},
        {.call = {REGS_CALL_MMAP,
                  {p->area, p->area_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
                   0, 0}}},
        {.call = {SYS_close, {0}}}};
    p->imaged = space_calls(r->space, r->caller, steps, sizeof steps / sizeof *steps) &&
                steps[1].result == (int64_t)p->area;
    return p->imaged;
}

int code_image_correct(const struct patched *p, int fd, struct err *err) {
    const struct plan_code *c = &p->code->emitted;
    uint64_t word;
    int rc = 0;
    for (size_t i = 0; patched_moved(p) && i < c->address_count && rc == 0; i++) {
        word = 0;
        memcpy(&word, c->area + c->addresses[i], c->word_bytes);
        word += patched_moved(p);
        rc = memory_write(fd, p->area + c->addresses[i], &word, c->word_bytes, err);
    }
    return rc;
}

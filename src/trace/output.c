/* Opens, locks, writes and renames the file of a trace. */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "trace/old_parts.h"

enum { WRITE_TIMEOUT_MS = 10000, PRIVATE_MODE = S_IRUSR | S_IWUSR };

static int fail(struct err *err, int code, const char *tag, const char *path, const char *failure) {
    return err_set(err, code, tag, "%s: %s: %s", path, failure, strerror(code));
}

/* Pipes and character devices are written without a .part file. */
static int open_stream(struct output *o, struct err *err) {
    o->part = mem_strdup(o->path);
    o->fd = open(o->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (o->fd >= 0)
        return 0;
    if (errno == ENXIO)
        return err_set(err, ENXIO, "open", "%s: cannot open: no process reads this pipe", o->path);
    return fail(err, errno, "open", o->path, "cannot open");
}

/* Opens and locks o->part. 1: it was renamed or removed in between; try again. */
static int lock_part(struct output *o, struct err *err) {
    struct stat opened, by_name;
    o->fd = open(o->part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                 o->is_private ? PRIVATE_MODE : 0666);
    if (o->fd < 0)
        return fail(err, errno, "open", o->part, "cannot create");
    if (fstat(o->fd, &opened) || !S_ISREG(opened.st_mode))
        return err_set(err, EINVAL, "not-a-file", "%s: is not a regular file: remove it", o->part);
    if (flock(o->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return err_set(err, EBUSY, "open", "%s: another spoor is writing it: choose another -o",
                       o->part);
    return lstat(o->part, &by_name) || by_name.st_ino != opened.st_ino ||
           by_name.st_dev != opened.st_dev;
}

/* A file of that name may have been there with other rights. File systems without rights refuse. */
static void restrict_rights(const struct output *o) {
    int rc = o->is_private ? fchmod(o->fd, PRIVATE_MODE) : 0;
    (void)rc;
}

/* The lock is held until the rename. It keeps another spoor from writing the same trace. A file
 * system without locks has no such protection. */
static int open_part(struct output *o, struct err *err) {
    int rc;
    o->part = mem_printf("%s.part", o->path);
    while ((rc = lock_part(o, err)) > 0)
        close(o->fd);
    if (!rc && ftruncate(o->fd, 0))
        return fail(err, errno, "open", o->part, "cannot truncate");
    if (!rc)
        restrict_rights(o);
    return rc;
}

int output_open(struct output *o, const char *path, struct err *err) {
    struct stat st;
    *o = (struct output){.fd = -1, .regular = true, .is_private = o->is_private};
    if (stat(path, &st)) {
        o->path = mem_strdup(path);
        return open_part(o, err);
    }
    char *resolved = realpath(path, NULL); /* NULL for /dev/stdout as a pipe */
    o->path = resolved ? resolved : mem_strdup(path);
    if (S_ISREG(st.st_mode))
        return open_part(o, err);
    o->regular = false;
    if (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))
        return open_stream(o, err);
    return err_set(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "not-a-file",
                   "%s: is %s, not a file", path,
                   S_ISDIR(st.st_mode) ? "a directory" : "a device or socket");
}

static int wait_writable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int n = poll(&p, 1, WRITE_TIMEOUT_MS);
    if (n < 0 && errno != EINTR)
        return errno;
    return n == 0 ? ETIMEDOUT : 0;
}

/* Moves *PARTS past N bytes. Returns how many parts remain. */
static int advance(struct iovec **parts, int count, size_t n) {
    while (count && n >= (*parts)->iov_len) {
        n -= (*parts)->iov_len;
        ++*parts;
        count--;
    }
    if (count) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + n;
        (*parts)->iov_len -= n;
    }
    return count;
}

static int write_all(int fd, struct iovec *parts, int count, uint64_t *written) {
    count = advance(&parts, count, 0);
    while (count) {
        ssize_t n = writev(fd, parts, count);
        int code = n > 0 || errno == EINTR ? 0 : n == 0 ? EIO : errno;
        if (code == EAGAIN)
            code = wait_writable(fd);
        if (code)
            return code;
        if (n > 0) {
            *written += (size_t)n;
            count = advance(&parts, count, (size_t)n);
        }
    }
    return 0;
}

int output_write(struct output *o, struct iovec *parts, int count, struct err *err) {
    uint64_t written = 0;
    int code = write_all(o->fd, parts, count, &written);
    if (!code) {
        o->offset += written;
        return 0;
    }
    if (o->regular && written && !ftruncate(o->fd, (off_t)o->offset))
        lseek(o->fd, (off_t)o->offset, SEEK_SET);
    return fail(err, code, "write", o->part, "cannot write the trace");
}

/* Renames a file with contents that already has the name. A failure shows in the rename that
 * follows, or the file is replaced as it would be otherwise. */
void output_keep_old(const struct output *o) {
    struct stat st;
    AUTO_FREE char *old = mem_printf("%s.old", o->path);
    old_parts_keep(o->path, old);
    if (stat(o->path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size) {
        int rc = rename(o->path, old);
        (void)rc;
    }
}

/* File systems without RENAME_EXCHANGE have a moment in which A's name is free. */
static int exchange(const char *a, const char *b) {
    AUTO_FREE char *free_name = mem_printf("%s.new", b);
    if (!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return errno;
    return rename(b, free_name) || rename(a, b) || rename(free_name, a) ? errno : 0;
}

int output_exchange_names(struct output *a, struct output *b, struct err *err) {
    bool keeps_old = a->keeps_old;
    int code = exchange(a->part, b->part);
    if (code)
        return fail(err, code, "rename", a->part, "cannot rename");
    a->part = atomic_exchange(&b->part, a->part);
    a->path = atomic_exchange(&b->path, a->path);
    a->keeps_old = b->keeps_old;
    b->keeps_old = keeps_old;
    return 0;
}

int output_commit(struct output *o, struct err *err) {
    int copy = dup(o->fd); /* closing it shows errors of delayed writes and keeps the lock */
    if (copy >= 0 && close(copy) && errno != EINTR)
        return fail(err, errno, "write", o->part, "cannot write the trace");
    if (o->regular && o->keeps_old)
        output_keep_old(o);
    if (o->regular && rename(o->part, o->path))
        return err_set(err, errno, "rename", "%s: cannot rename to %s: %s", o->part, o->path,
                       strerror(errno));
    return 0;
}

void output_remove(const struct output *o) {
    if (o->regular)
        unlink(o->part);
}

void output_done(struct output *o) {
    if (o->fd >= 0)
        close(o->fd);
    free(o->path);
    free(o->part);
}

/* See out_dir.h. */
#include "export/out_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/out.h"

static struct out_dir *volatile unfinished; /* NULL: none */

struct file_name {
    char text[24];
};

/* Async-signal-safe. */
static struct file_name name_of(uint32_t stream) {
    struct file_name name = {"metadata"};
    char digits[10];
    size_t count = 0;
    if (stream == OUT_DIR_METADATA)
        return name;
    do
        digits[count++] = (char)('0' + stream % 10);
    while (stream /= 10);
    char *end = stpcpy(name.text, "stream_");
    while (count)
        *end++ = digits[--count];
    *end = '\0';
    return name;
}

/* Async-signal-safe. */
static void remove_all(const struct out_dir *d) {
    unlinkat(d->fd, name_of(OUT_DIR_METADATA).text, 0);
    for (uint32_t i = 0; i < d->streams; i++)
        unlinkat(d->fd, name_of(i).text, 0);
    if (d->made)
        rmdir(d->path);
}

static void remove_unfinished(void) {
    if (unfinished)
        remove_all(unfinished);
}

static bool is_empty(int fd) {
    int copy = dup(fd);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return false;
    bool empty = true;
    for (const struct dirent *e; (e = readdir(dir));)
        empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    closedir(dir);
    return empty;
}

int out_dir_open(struct out_dir *d, const char *path, struct err *err) {
    *d = (struct out_dir){.path = path, .made = mkdir(path, 0777) == 0};
    if (!d->made && errno != EEXIST)
        return err_set(err, errno, "open", "%s: %s", path, strerror(errno));
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0) {
        int rc = err_set(err, errno, "open", "%s: %s", path, strerror(errno));
        if (d->made)
            rmdir(path);
        return rc;
    }
    if (!is_empty(d->fd)) {
        close(d->fd);
        return err_set(err, ENOTEMPTY, "not-empty", "%s: is not empty: choose another -o", path);
    }
    unfinished = d;
    out_undo_on_signal(remove_unfinished);
    return 0;
}

static int write_all(int fd, const char *bytes, size_t count) {
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno != EINTR)
            return -errno;
        bytes += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* A file is open only while it is written to, as there may be more streams than descriptors. */
int out_dir_write(struct out_dir *d, uint32_t stream, const void *bytes, size_t count) {
    if (stream != OUT_DIR_METADATA && stream >= d->streams)
        d->streams = stream + 1;
    int fd = openat(d->fd, name_of(stream).text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int rc = write_all(fd, bytes, count);
    if (close(fd) < 0 && rc == 0)
        rc = -errno;
    return rc;
}

void out_dir_close(struct out_dir *d) {
    out_keep_on_signal();
    unfinished = NULL;
    close(d->fd);
}

void out_dir_abandon(struct out_dir *d) {
    remove_all(d);
    out_dir_close(d);
}

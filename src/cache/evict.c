/*
 * Removes the least recently used files of a folder. A use sets a file's time (folder_read()). Code
 * counts as used an hour earlier: it is made of a plan in a tenth of the time that the plan took. A
 * large module's code for other addresses would push out its plan. Plans that nobody uses any more,
 * as those of an earlier planner, go before code that is used.
 */
#include "cache/evict.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

static const int64_t SECOND_NS = 1000000000, CODE_EARLIER_NS = 3600 * SECOND_NS;

struct candidate {
    int64_t used_ns; /* what counts for when it was last used */
    uint64_t bytes;
    char *name;
};
typedef ARRAY(struct candidate) candidates;

/* What goes first is less. */
static int compare(const void *a, const void *b) {
    const struct candidate *c = a, *d = b;
    return (c->used_ns > d->used_ns) - (c->used_ns < d->used_ns);
}

static bool is_code(const char *name) { return strncmp(name, "code-", strlen("code-")) == 0; }

/* Whether the cache has made the file NAME. */
static bool is_entry(const char *name) {
    static const char *const kinds[] = {"file-", "plan-", "outline-", "answer-", "debug-", "part-"};
    bool found = is_code(name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !found; i++)
        found = strncmp(name, kinds[i], strlen(kinds[i])) == 0;
    return found;
}

static int64_t used_ns(const char *name, const struct stat *st) {
    const int64_t ns = (int64_t)st->st_mtim.tv_sec * SECOND_NS + st->st_mtim.tv_nsec;
    return is_code(name) ? ns - CODE_EARLIER_NS : ns;
}

/* Adds the entries of DIR, and returns their bytes on disk. */
static uint64_t list(DIR *dir, candidates *ret) {
    enum { BLOCK = 512 }; /* the unit of st_blocks */
    uint64_t sum = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        if (!is_entry(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode))
            continue;
        uint64_t bytes = (uint64_t)st.st_blocks * BLOCK;
        bytes = bytes > (uint64_t)st.st_size ? bytes : (uint64_t)st.st_size;
        sum += bytes;
        ARRAY_PUSH(ret, ((struct candidate){used_ns(entry->d_name, &st), bytes,
                                            mem_strdup(entry->d_name)}));
    }
    return sum;
}

void evict(int folder, uint64_t most) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    candidates files = {0};
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    uint64_t sum = list(dir, &files);
    if (sum > most && files.count)
        qsort(files.at, files.count, sizeof *files.at, compare);
    for (size_t i = 0; i < files.count; i++) {
        if (sum > most) {
            unlinkat(folder, files.at[i].name, 0);
            sum -= files.at[i].bytes;
        }
        free(files.at[i].name);
    }
    ARRAY_FREE(&files);
    closedir(dir);
}

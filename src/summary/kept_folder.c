/* See kept_folder.h. */
#include "summary/kept_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/mem.h"

/* NULL: there is none. */
static char *folder_path(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && base[0] == '/')
        return mem_printf("%s/spoor/views", base);
    return home && home[0] == '/' ? mem_printf("%s/.cache/spoor/views", home) : NULL;
}

/* Makes PATH and the two folders above it. */
static void make_folders(char *path) {
    for (int up = 2; up >= 0; up--) {
        char *slash = path + strlen(path);
        for (int i = 0; i < up; i++)
            do
                slash--;
            while (*slash != '/');
        char old = *slash;
        *slash = '\0';
        if (*path)
            mkdir(path, 0700);
        *slash = old;
    }
}

static bool is_own(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* A folder that root makes in another user's home would be of no use to him. */
static bool is_others_home(void) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat st;
    return geteuid() == 0 && stat(base && base[0] == '/' ? base : home, &st) == 0 && st.st_uid != 0;
}

char *kept_folder_file(const void *key, size_t size, bool make) {
    AUTO_FREE char *path = folder_path();
    uint8_t name[DIGEST_BYTES];
    char text[2 * DIGEST_BYTES + 1];
    struct digest digest;
    if (!path)
        return NULL;
    if (make && !is_others_home())
        make_folders(path);
    if (!is_own(path))
        return NULL;
    digest_init(&digest);
    digest_add(&digest, key, size);
    digest_finish(&digest, name);
    for (int i = 0; i < DIGEST_BYTES; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", name[i]);
    return mem_printf("%s/%s.idx", path, text);
}

struct file {
    char *name;
    uint64_t bytes;
    struct timespec used;
};
typedef ARRAY(struct file) file_list;

static int by_age(const void *a, const void *b) {
    const struct timespec *x = &((const struct file *)a)->used,
                          *y = &((const struct file *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static uint64_t list_files(DIR *dir, file_list *ret) {
    uint64_t sum = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        struct stat st;
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
            continue;
        bool read_later = st.st_atim.tv_sec > st.st_mtim.tv_sec;
        ARRAY_PUSH(ret, ((struct file){mem_strdup(e->d_name), (uint64_t)st.st_size,
                                       read_later ? st.st_atim : st.st_mtim}));
        sum += (uint64_t)st.st_size;
    }
    return sum;
}

void kept_folder_limit(uint64_t most_bytes) {
    AUTO_FREE char *path = folder_path();
    DIR *dir = path && is_own(path) ? opendir(path) : NULL;
    file_list files = {0};
    if (!dir)
        return;
    uint64_t sum = list_files(dir, &files);
    if (files.count > 1)
        qsort(files.at, files.count, sizeof *files.at, by_age);
    for (size_t i = 0; i + 1 < files.count && sum > most_bytes; i++)
        if (unlinkat(dirfd(dir), files.at[i].name, 0) == 0)
            sum -= files.at[i].bytes;
    for (size_t i = 0; i < files.count; i++)
        free(files.at[i].name);
    ARRAY_FREE(&files);
    closedir(dir);
}

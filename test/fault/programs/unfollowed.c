/*
 * Makes a child that is not followed, while threads run. The child's code equals its files, no
 * other memory is executable, and none is shared with spoor: unfollowed LIBRARY
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

#include "self_check.h"

enum { CHILDREN = 5 };

static volatile int ended;

static void *work_on(void *arg) {
    while (!ended)
        check_work();
    return arg;
}

static int is_traced(void) {
    char line[256];
    int tracer = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f))
        sscanf(line, "TracerPid: %d", &tracer);
    fclose(f);
    return tracer != 0;
}

static void compare(const char *start, size_t size, long offset, const char *path) {
    char *file = malloc(size);
    int fd = open(path, O_RDONLY);
    ssize_t got = pread(fd, file, size, offset);
    check(got > 0 && memcmp(file, start, (size_t)got) == 0, path);
    close(fd);
    free(file);
}

/* Returns the number of files whose code is unchanged. */
static int check_code(void) {
    char line[4096], path[4096], rights[8];
    unsigned long start, end;
    long offset;
    int files = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f)) {
        path[0] = '\0';
        sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &start, &end, rights, &offset, path);
        check(strncmp(path, "/memfd:", strlen("/memfd:")) != 0, line);
        if (rights[2] != 'x' || path[0] == '[')
            continue;
        check(path[0] == '/', line);
        compare((const char *)start, end - start, offset, path); /* NOLINT: own address */
        files++;
    }
    fclose(f);
    return files;
}

int main(int argc, char **argv) {
    pthread_t thread;
    check(argc == 2 && dlopen(argv[1], RTLD_NOW), "dlopen");
    pthread_create(&thread, NULL, work_on, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            check_work();
            check(is_traced() || check_code() >= 4, "the files");
            check_work();
            _exit(5);
        }
        check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5,
              "child");
    }
    ended = 1;
    pthread_join(thread, NULL);
    return right();
}

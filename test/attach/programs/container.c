/*
 * Runs a program in a container: as root and first process of new user, mount and pid namespaces.
 * The file system holds only copies of the named files, and /proc where the kernel allows it.
 *
 *     container ROOT [NAME=FILE...] -- PROGRAM [ARGUMENT...]
 *
 * ROOT is an empty folder. The status is PROGRAM's, or 77 if no namespaces may be made. Without
 * arguments the program only tries to make them.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77, WRONG = 1, KILLED = 128, NAME_ROOM = 4096 };

static void require(bool right, const char *what) {
    if (right)
        return;
    fprintf(stderr, "contain: %s: %s\n", what, strerror(errno));
    exit(WRONG);
}

static bool write_text(const char *name, const char *text) {
    int fd = open(name, O_WRONLY);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return written;
}

static bool become_root(void) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "0 %d 1", (int)geteuid());
    snprintf(groups, sizeof groups, "0 %d 1", (int)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) == 0 &&
           write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users) &&
           write_text("/proc/self/gid_map", groups) &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void make_folders(char *name) {
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        require(mkdir(name, 0755) == 0 || errno == EEXIST, name);
        *slash = '/';
    }
}

static void copy(const char *root, const char *given) {
    const char *file = strchr(given, '=') + 1;
    char name[NAME_ROOM];
    struct stat st;
    snprintf(name, sizeof name, "%s/%.*s", root, (int)(file - 1 - given), given);
    make_folders(name);
    int from = open(file, O_RDONLY), to = open(name, O_WRONLY | O_CREAT | O_EXCL, 0755);
    require(from >= 0 && to >= 0 && fstat(from, &st) == 0, given);
    while (st.st_size > 0) {
        ssize_t copied = sendfile(to, from, NULL, (size_t)st.st_size);
        require(copied > 0, given);
        st.st_size -= copied;
    }
    close(from);
    close(to);
}

/* Moves the initial file system of a machine without a disk away: this one is moved over it. */
static void become_file_system(void) {
    if (syscall(SYS_pivot_root, ".", ".") == 0)
        require(umount2(".", MNT_DETACH) == 0, "what was the root");
    else
        require(errno == EINVAL && mount(".", "/", NULL, MS_MOVE, NULL) == 0 && chroot(".") == 0,
                "the root");
    require(chdir("/") == 0, "the folder");
}

static void run(char **words) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    require(mkdir("proc", 0755) == 0, "proc");
    if (mount("none", "proc", "proc", 0, NULL) < 0)
        rmdir("proc"); /* inside another container */
    become_file_system();
    execv(words[0], words);
    require(false, words[0]);
}

int main(int argc, char **argv) {
    int status;
    if (!become_root())
        return SKIP;
    if (argc < 2)
        return 0;
    const char *root = argv[1];
    if (mount("none", root, "tmpfs", 0, "mode=755") < 0)
        return SKIP;
    for (argv += 2; strcmp(*argv, "--") != 0; argv++)
        copy(root, *argv);
    require(chdir(root) == 0, root);
    pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0)
        run(argv + 1);
    require(waitpid(child, &status, 0) == child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

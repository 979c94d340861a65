/* The client: sends a request to the spoor that records a process, and waits for the answer. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/control.h"

enum { ANSWER_S = 120 }; /* planning the modules of a new filter may take long */

/* Any process can listen at the address. Trusted are listeners of this user; root also trusts those
 * of the user of process PID. Nothing is sent before this check: a recording of root refuses other
 * users and closes, and a send would then hide its refusal. */
static bool is_trusted(int fd, pid_t pid) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    struct stat st;
    char name[32];
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    if (peer.uid == geteuid())
        return true;
    snprintf(name, sizeof name, "/proc/%d", pid);
    return geteuid() == 0 && stat(name, &st) == 0 && st.st_uid == peer.uid;
}

/* CALL of a socket, again while a stop of this process ends it: one with a time limit is not
 * restarted by the kernel (signal(7)). */
#define RESTARTED(call)                                                                            \
    ({                                                                                             \
        ssize_t result_;                                                                           \
        do                                                                                         \
            result_ = (call);                                                                      \
        while (result_ < 0 && errno == EINTR);                                                     \
        result_;                                                                                   \
    })

/* ---- the process that was meant ---- */

/* Whether process PID has the socket INODE open. False: not, or it may not be known. */
static bool has_socket(pid_t pid, unsigned long inode) {
    AUTO_FREE char *path = mem_printf("/proc/%d/fd", pid),
                   *wanted = mem_printf("socket:[%lu]", inode);
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *e; folder && !found && (e = readdir(folder));) {
        char target[64];
        ssize_t n = readlinkat(dirfd(folder), e->d_name, target, sizeof target - 1);
        target[n < 0 ? 0 : n] = '\0';
        found = strcmp(target, wanted) == 0;
    }
    if (folder)
        closedir(folder);
    return found;
}

/* A process that process SPOOR records: SPOOR listens at its address. 0: there is none. */
static pid_t recorded_by(pid_t spoor) {
    FILE *f = fopen("/proc/net/unix", "re");
    char *line = NULL;
    size_t room = 0;
    pid_t found = 0;
    while (f && !found && getline(&line, &room, f) >= 0) {
        unsigned long inode;
        int pid;
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu @spoor/%d", &inode, &pid) == 2 &&
            has_socket(spoor, inode))
            found = pid;
    }
    free(line);
    if (f)
        fclose(f);
    return found;
}

static int no_recorder(pid_t pid, struct err *err) {
    const pid_t meant = recorded_by(pid);
    if (meant)
        return err_set(err, ECONNREFUSED, "no-recorder",
                       "process %d: is the spoor that records process %d: give %d", pid, meant,
                       meant);
    return err_set(err, ECONNREFUSED, "no-recorder",
                   "process %d: no spoor records it: try 'spoor attach %d'", pid, pid);
}

/* ---- requests ---- */

static int connect_to(int fd, pid_t pid, struct err *err) {
    struct sockaddr_un address;
    const struct timeval limit = {.tv_sec = ANSWER_S};
    socklen_t size = (socklen_t)request_address(pid, &address);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (RESTARTED(connect(fd, (struct sockaddr *)&address, size)) < 0)
        return errno == ECONNREFUSED
                   ? no_recorder(pid, err)
                   : err_set(err, errno, "no-recorder",
                             "process %d: the recording spoor does not answer: try again", pid);
    if (!is_trusted(fd, pid))
        return err_set(err, EPERM, "foreign-recorder",
                       "process %d: is recorded by another user: ask that user, or root", pid);
    return 0;
}

static int no_answer(pid_t pid, ssize_t size, struct err *err) {
    const char *why = size == 0 || errno == ECONNRESET || errno == EPIPE ? "the recording has ended"
                                                                         : strerror(errno);
    return err_set(err, EIO, "no-answer", "process %d: no answer: %s", pid, why);
}

static int take_answer(const char *bytes, ssize_t size, pid_t pid, struct control_answer *ret,
                       struct err *err) {
    const char *text;
    struct err why = {0};
    if (size <= 0)
        return no_answer(pid, size, err);
    if (answer_unpack(bytes, (size_t)size, &ret->failed, &text, &why) < 0)
        return err_set(err, EPROTO, why.tag, "process %d: %s", pid, why.text);
    snprintf(ret->text, sizeof ret->text, "%s", text);
    return 0;
}

int control_request(pid_t pid, const struct request *request, struct control_answer *ret,
                    struct err *err) {
    size_t size;
    char answer[ANSWER_MOST_BYTES];
    AUTO_FREE char *packet = request_pack(request, &size);
    *ret = (struct control_answer){.failed = true};
    if (size > REQUEST_MOST_BYTES)
        return err_set(err, E2BIG, "long-request", "process %d: the filter is too long", pid);
    AUTO_FD int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return no_answer(pid, -1, err);
    int rc = connect_to(fd, pid, err);
    if (rc < 0)
        return rc;
    if (RESTARTED(send(fd, packet, size, MSG_NOSIGNAL)) < 0)
        return no_answer(pid, -1, err);
    ssize_t count = RESTARTED(recv(fd, answer, sizeof answer, 0));
    return take_answer(answer, count, pid, ret, err);
}

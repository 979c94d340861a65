/*
 * One thread makes system calls that another thread of its process answers (seccomp notifications),
 * while a third thread loads libraries. The first cannot be stopped before the answer has come, and
 * a stopped thread cannot give that answer.
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "self_check.h"

enum { ANSWER = 77, CALLS = 100, LOADS = 30, THINKS_US = 2000, ROOM = 4096 };
enum { WAIT_KILLABLE = 1 << 5 }; /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, since Linux 5.19 */

static int listener = -1;
static unsigned asked;

static void *answer(void *unused) {
    (void)unused;
    struct seccomp_notif *call = calloc(1, ROOM);
    struct seccomp_notif_resp *response = calloc(1, ROOM);
    check(call && response, "memory");
    while (asked < CALLS) {
        memset(call, 0, ROOM);
        int rc = ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call);
        if (rc < 0 && errno == ENOENT) /* the call was interrupted before the notification was
                                          received: it comes again */
            continue;
        check(rc == 0, "a call");
        asked++;
        usleep(THINKS_US);
        *response = (struct seccomp_notif_resp){.id = call->id, .val = ANSWER};
        check(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response) == 0, "its answer");
    }
    free(call);
    free(response);
    return NULL;
}

static void confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE, &program);
}

static void *ask(void *unused) {
    (void)unused;
    pthread_t other;
    confine();
    if (listener < 0) /* the kernel is older, or another process is the listener */
        return NULL;
    check(pthread_create(&other, NULL, answer, NULL) == 0, "thread");
    for (unsigned i = 0; i < CALLS; i++)
        check(syscall(SYS_getppid) == ANSWER, "the answer");
    pthread_join(other, NULL);
    check(asked == CALLS, "each call is asked for once");
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    check(argc == 2, "arguments");
    check(pthread_create(&thread, NULL, ask, NULL) == 0, "thread");
    for (int i = 0; i < LOADS; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        check(library && dlclose(library) == 0, "library");
        usleep(THINKS_US);
    }
    pthread_join(thread, NULL);
    check_work();
    return right();
}

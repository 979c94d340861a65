/*
 * Who waits to be told of the system calls of others (seccomp_unotify(2)) hears EINTR of any stop
 * before Linux 6.6 (seccomp_notify_recv() in kernel/seccomp.c), and has not been told of any then.
 */
#ifndef SPOOR_ARCH_NOTICES_H
#define SPOOR_ARCH_NOTICES_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* Whether a call of this NUMBER and second argument is such a wait. */
static inline bool waits_for_notice(uint64_t number, uint64_t request) {
    return number == SYS_ioctl && request == SECCOMP_IOCTL_NOTIF_RECV;
}

#endif

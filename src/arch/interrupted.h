/*
 * System calls that fail with EINTR after a stop without a signal handler. The kernel does not
 * restart them (signal(7), "Interruption of system calls and library functions by stop signals").
 * Calls on sockets are among them, as these may have a timeout.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

/* Before Linux 6.6 any stop ends the wait for a notification (seccomp_unotify(2)) with EINTR, and
 * no notification is lost by that (seccomp_notify_recv() in kernel/seccomp.c). */
static inline bool is_notification_wait(uint64_t number, uint64_t request) {
    return number == SYS_ioctl && request == SECCOMP_IOCTL_NOTIF_RECV;
}

/* Whether the call NUMBER, with this second argument, is one of them. Numbers are those of the
 * host's own programs. */
static inline bool is_interrupted_by_stops(uint64_t number, uint64_t second) {
    static const uint16_t calls[] = {
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
#ifdef SYS_recv
        SYS_recv,
        SYS_send,
#endif
#ifdef SYS_recvmmsg_time64
        SYS_rt_sigtimedwait_time64,
        SYS_semtimedop_time64,
        SYS_io_pgetevents_time64,
        SYS_recvmmsg_time64,
#endif
        SYS_epoll_pwait,
        SYS_epoll_pwait2,
        SYS_rt_sigtimedwait,
        SYS_semop,
        SYS_semtimedop,
        SYS_io_getevents,
        SYS_io_pgetevents,
        SYS_io_uring_enter,
        SYS_read,
        SYS_readv,
        SYS_recvfrom,
        SYS_recvmsg,
        SYS_recvmmsg,
        SYS_write,
        SYS_writev,
        SYS_sendto,
        SYS_sendmsg,
        SYS_sendmmsg,
        SYS_accept,
        SYS_accept4,
        SYS_connect};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (number == calls[i])
            return true;
    return is_notification_wait(number, second);
}

/* The output buffer, and the signal handler that removes an unfinished file. */
#include "cmd/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/say.h"

/* ---- a file that a signal removes ---- */

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};
static char *volatile unfinished;     /* the path of the file; NULL: none */
static void (*volatile wanted)(void); /* NULL: nothing is to be removed */

static void remove_unfinished(void) {
    if (unfinished)
        unlink(unfinished);
}

static void on_signal(int number) {
    if (wanted)
        wanted();
    raise(number); /* ends spoor on return: the handler was reset */
}

void out_undo_on_signal(void (*undo)(void)) {
    wanted = undo;
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++) {
        struct sigaction act = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, old;
        if (sigaction(fatal_signals[i], &act, &old) == 0 && old.sa_handler == SIG_IGN)
            sigaction(fatal_signals[i], &old, NULL);
    }
}

void out_keep_on_signal(void) {
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++) {
        struct sigaction now;
        if (sigaction(fatal_signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            signal(fatal_signals[i], SIG_DFL);
    }
    wanted = NULL;
    unfinished = NULL;
}

/* ---- opening and closing ---- */

/* Opens a file that signals remove. Signals are blocked until the handlers are set. */
static int open_removable(struct output *file, const char *path, struct err *err) {
    sigset_t fatal, before;
    sigemptyset(&fatal);
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++)
        sigaddset(&fatal, fatal_signals[i]);
    sigprocmask(SIG_BLOCK, &fatal, &before);
    int rc = output_open(file, path, err);
    if (rc == 0 && file->regular) {
        unfinished = file->part;
        out_undo_on_signal(remove_unfinished);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int out_open(struct out *o, const char *path, struct err *err) {
    *o = (struct out){.fd = STDOUT_FILENO, .name = "standard output"};
    if (path) {
        int rc = open_removable(&o->file, path, err);
        if (rc < 0) {
            output_done(&o->file);
            return rc;
        }
        o->name = path;
        o->is_file = true;
        o->fd = o->file.fd;
        fcntl(o->fd, F_SETFL,
              fcntl(o->fd, F_GETFL) & ~O_NONBLOCK); /* wait for the reader of a pipe */
    }
    o->buffer = mem_resize(NULL, OUT_BYTES, 1);
    return 0;
}

void out_abandon(struct out *o) {
    if (o->is_file) {
        if (o->file.regular)
            unlink(o->file.part);
        out_keep_on_signal();
        output_done(&o->file);
    }
    free(o->buffer);
    *o = (struct out){.fd = -1};
}

int out_close(struct out *o) {
    out_flush(o);
    if (!o->error && o->is_file)
        o->error = -output_commit(&o->file, NULL);
    if (o->error) {
        say_error("%s: %s", o->name, strerror(o->error));
        out_abandon(o);
        return STATUS_FAILED;
    }
    if (o->is_file) {
        out_keep_on_signal();
        output_done(&o->file);
    }
    free(o->buffer);
    *o = (struct out){.fd = -1};
    return STATUS_OK;
}

/* ---- writing ---- */

static void end_by_sigpipe(void) {
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &pipe_only, NULL);
    raise(SIGPIPE);
}

/* Waits if a write may succeed then. False: the write has failed for errno. */
static bool wait_or_retry(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (errno == EAGAIN)
        return poll(&p, 1, -1) >= 0 || errno == EINTR;
    if (errno == EPIPE)
        end_by_sigpipe();
    return errno == EINTR;
}

static void write_all(struct out *o, const char *text, size_t length) {
    while (length && !o->error) {
        ssize_t n = write(o->fd, text, length);
        if (n < 0) {
            o->error = wait_or_retry(o->fd) ? 0 : errno;
            continue;
        }
        text += n;
        length -= (size_t)n;
    }
}

void out_flush(struct out *o) {
    write_all(o, o->buffer, o->used);
    o->used = 0;
}

void out_long(struct out *o, const char *text, size_t length) {
    out_flush(o);
    if (length >= OUT_BYTES)
        write_all(o, text, length);
    else
        out_text(o, text, length);
}

/* ---- numbers ---- */

enum { DIGITS_MOST = 20 };

/* Writes the digits of VALUE so that they end at END. Returns where they begin. */
static char *digits_before(char *end, uint64_t value) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

void out_padded(struct out *o, uint64_t value, unsigned width, char fill) {
    char digits[DIGITS_MOST], *end = digits + sizeof digits;
    const char *first = digits_before(end, value);
    for (unsigned count = (unsigned)(end - first); count < width; count++)
        out_char(o, fill);
    out_text(o, first, (size_t)(end - first));
}

void out_number(struct out *o, uint64_t value) {
    char digits[DIGITS_MOST], *end = digits + sizeof digits;
    const char *first = digits_before(end, value);
    out_text(o, first, (size_t)(end - first));
}

void out_micros(struct out *o, uint64_t ns) {
    out_number(o, ns / 1000);
    out_char(o, '.');
    out_padded(o, ns % 1000, 3, '0');
}

void out_millis(struct out *o, uint64_t ns) {
    out_number(o, ns / 1000000);
    if (ns % 1000000) {
        out_char(o, '.');
        out_padded(o, ns % 1000000, 6, '0');
    }
}

void out_spaces(struct out *o, size_t count) {
    while (count) {
        size_t n = count < OUT_BYTES ? count : OUT_BYTES;
        memset(out_room(o, n), ' ', n);
        o->used += n;
        count -= n;
    }
}

/*
 * Loads the client library at first use: its HTTP client costs many times the start-up time of
 * spoor. Each request has a thread. Nobody waits for a thread whose time is over: name servers may
 * hold it for minutes.
 */
#include "elf/debuginfod.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define SECOND_NS UINT64_C(1000000000)
static const uint64_t FIRST_BYTE_NS = 5 * SECOND_NS, ALL_NS = 60 * SECOND_NS,
                      SILENT_NS = SECOND_NS / 2;

struct client_library {
    __typeof__(debuginfod_begin) *begin;
    __typeof__(debuginfod_find_debuginfo) *find;
    __typeof__(debuginfod_end) *end;
    __typeof__(debuginfod_set_progressfn) *set_progress;
    __typeof__(debuginfod_set_user_data) *set_data;
    __typeof__(debuginfod_get_user_data) *get_data;
    __typeof__(debuginfod_get_url) *get_url;
};

struct request { /* shared by its thread and the waiting one; the last one frees it */
    struct client_library library;
    uint8_t build_id[64];
    size_t size;
    uint64_t begun_ns;
    bool answered; /* a server has sent something */
    bool done;
    bool given_up; /* nobody waits for it */
    int fd;
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the requests' last four members */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool allowed = true, unanswered;
static struct report reports;

void debuginfod_use(bool network, const struct report *report) {
    allowed = network;
    reports = report ? *report : (struct report){0};
}

/* The library stays loaded: libcurl's globals make unloading unsafe. */
static bool load(struct client_library *library) {
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
#define FIND(member, name) library->member = (__typeof__(library->member))dlsym(handle, name)
    FIND(begin, "debuginfod_begin");
    FIND(find, "debuginfod_find_debuginfo");
    FIND(end, "debuginfod_end");
    FIND(set_progress, "debuginfod_set_progressfn");
    FIND(set_data, "debuginfod_set_user_data");
    FIND(get_data, "debuginfod_get_user_data");
    FIND(get_url, "debuginfod_get_url");
#undef FIND
    return library->begin && library->find && library->end && library->set_progress &&
           library->set_data && library->get_data && library->get_url;
}

/* ---- the cache ---- */

/* Where the client library keeps files (debuginfod_find_debuginfo(3), "CACHE"). To be freed. */
static char *cache_folder(void) {
    const char *given = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (given && *given)
        return mem_strdup(given);
    AUTO_FREE char *old = mem_printf("%s/.debuginfod_client_cache", home ? home : "");
    if (access(old, F_OK) == 0)
        return steal(old);
    return xdg && *xdg ? mem_printf("%s/debuginfod_client", xdg)
                       : mem_printf("%s/.cache/debuginfod_client", home ? home : "");
}

/* An empty file there says that the servers do not have it. */
static int open_cached(const struct debuginfod_file *file) {
    AUTO_FREE char *folder = cache_folder();
    char hex[2 * sizeof((struct request *)0)->build_id + 1] = "";
    for (size_t i = 0; i < file->size && i < sizeof((struct request *)0)->build_id; i++)
        snprintf(hex + 2 * i, 3, "%02x", file->build_id[i]);
    AUTO_FREE char *path = mem_printf("%s/%s/debuginfo", folder, hex);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && lseek(fd, 0, SEEK_END) <= 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- the thread of a request ---- */

/* Called by the client about once a second. Not 0: the request ends. */
static int on_progress(debuginfod_client *client, long done, long total) {
    (void)done;
    static struct client_library library; /* the same for all */
    if (!library.get_data && !load(&library))
        return 1;
    struct request *r = library.get_data(client);
    uint64_t passed = clock_monotonic_ns() - r->begun_ns;
    pthread_mutex_lock(&lock);
    r->answered = r->answered || total > 0 || library.get_url(client);
    bool over = r->given_up || passed > ALL_NS || (!r->answered && passed > FIRST_BYTE_NS);
    pthread_mutex_unlock(&lock);
    return over;
}

static void *run(void *arg) {
    struct request *r = arg;
    debuginfod_client *client = r->library.begin();
    int fd = -1;
    if (client) {
        char *path = NULL;
        r->library.set_data(client, r);
        r->library.set_progress(client, on_progress);
        fd = r->library.find(client, r->build_id, (int)r->size, &path);
        free(path);
        r->library.end(client);
    }
    pthread_mutex_lock(&lock);
    r->fd = fd < 0 ? -1 : fd;
    r->done = true;
    bool nobody = r->given_up;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (nobody) {
        if (r->fd >= 0)
            close(r->fd);
        free(r);
    }
    return NULL;
}

/* NULL: no thread can be started. */
static struct request *ask(const struct client_library *library, const struct debuginfod_file *f) {
    struct request *r = mem_alloc(sizeof *r);
    pthread_t thread;
    pthread_attr_t detached;
    sigset_t all, mask;
    *r = (struct request){.library = *library, .size = f->size, .fd = -1};
    r->size = f->size < sizeof r->build_id ? f->size : sizeof r->build_id;
    memcpy(r->build_id, f->build_id, r->size);
    r->begun_ns = clock_monotonic_ns();
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int rc = pthread_create(&thread, &detached, run, r);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    pthread_attr_destroy(&detached);
    if (rc)
        free(r);
    return rc ? NULL : r;
}

/* ---- waiting ---- */

static bool is_over(const struct request *r, uint64_t now) {
    uint64_t passed = now - r->begun_ns;
    return r->done || passed > ALL_NS + SECOND_NS ||
           (!r->answered && passed > FIRST_BYTE_NS + SECOND_NS / 2);
}

static void tell(struct request *const *requests, const struct debuginfod_file *files,
                 size_t count) {
    size_t open = 0;
    const char *first = NULL;
    for (size_t i = 0; i < count; i++)
        if (requests[i] && !requests[i]->done) {
            first = first ? first : files[i].name;
            open++;
        }
    if (!first)
        return;
    AUTO_FREE char *more = open > 1 ? mem_printf(" and %zu more", open - 1) : mem_strdup("");
    AUTO_FREE char *text = mem_printf(
        "waiting for symbols of %s%s from %s: at most 60 s, 5 s without an answer; ^C goes "
        "on without",
        first, more, getenv("DEBUGINFOD_URLS"));
    report_warn(&reports, text);
}

/* SIGINT is blocked. Takes it. */
static bool is_interrupted(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    return sigtimedwait(&set, NULL, &(struct timespec){0}) == SIGINT;
}

static void await(struct request *const *requests, const struct debuginfod_file *files,
                  size_t count) {
    uint64_t begun = clock_monotonic_ns();
    bool announced = false, waits = true;
    pthread_mutex_lock(&lock);
    while (waits && !is_interrupted()) {
        struct timespec until;
        uint64_t now = clock_monotonic_ns();
        waits = false;
        for (size_t i = 0; i < count; i++)
            waits |= requests[i] && !is_over(requests[i], now);
        if (waits && !announced && now - begun > SILENT_NS) {
            tell(requests, files, count);
            announced = true;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (waits)
            pthread_cond_timedwait(&changed, &lock, &until);
    }
    pthread_mutex_unlock(&lock);
}

/* Takes R's result, or leaves R to its thread. */
static int finish(struct request *r) {
    pthread_mutex_lock(&lock);
    bool done = r->done;
    int fd = r->fd;
    r->given_up = true;
    unanswered |= fd < 0 && !r->answered && clock_monotonic_ns() - r->begun_ns >= FIRST_BYTE_NS;
    pthread_mutex_unlock(&lock);
    if (done)
        free(r);
    return done ? fd : -1;
}

/* ---- the interface ---- */

static void fetch_all(const struct client_library *library, struct debuginfod_file *files,
                      size_t count) {
    AUTO_FREE struct request **requests = mem_alloc((count + 1) * sizeof(struct request *));
    sigset_t interrupt, mask;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &mask);
    for (size_t i = 0; i < count; i++)
        requests[i] = files[i].fd < 0 ? ask(library, &files[i]) : NULL;
    await(requests, files, count);
    for (size_t i = 0; i < count; i++)
        if (requests[i])
            files[i].fd = finish(requests[i]);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void debuginfod_fetch(struct debuginfod_file *files, size_t count) {
    const char *urls = getenv("DEBUGINFOD_URLS");
    struct client_library library;
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        files[i].fd = urls && *urls && files[i].size > 1 ? open_cached(&files[i]) : -1;
        missing += files[i].fd < 0;
    }
    if (missing && urls && *urls && allowed && !unanswered && load(&library))
        fetch_all(&library, files, count);
}

int debuginfod_open(const uint8_t *build_id, size_t size, const char *name) {
    struct debuginfod_file file = {.build_id = build_id, .size = size, .name = name};
    debuginfod_fetch(&file, 1);
    return file.fd;
}

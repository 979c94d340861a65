/*
 * Rewrites its own code: switches at entries and in the middle of functions, as programs have that
 * turn logging on and off. The old bytes are compared before they are changed, so a foreign patch
 * there is noticed.
 *
 *     code_switches WAY [ROUNDS]
 *
 *     mprotect, pkey   by this function, one page at a time; the page is executable meanwhile
 *     apart            the page is not executable while it is writable
 *     open             the page stays writable; from then on it is changed without any call
 *     threads          other threads call the functions meanwhile
 *     fork             a child and its parent do so, each for itself
 *     handler          a signal handler does so; it has interrupted the function
 *     unchanged        the page is opened and closed only, while other threads call the functions
 *     returns          the function that makes the page writable returns before the page is closed
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "self_check.h"
#include "switches.h"

OWN_PAGES
SWITCH(at_entry, "")
SWITCH(behind_entry, BEFORE)
OWN_PAGES

enum { CALLS = 300, OPEN = PROT_READ | PROT_WRITE | PROT_EXEC };
static int rounds = 8;

static int way_is(const char *way, const char *name) { return strcmp(way, name) == 0; }

__attribute__((noinline)) static void protect(const char *way, const void *at, int prot) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int failed = -1;
#ifdef __GLIBC__
    if (way_is(way, "pkey"))
        failed = pkey_mprotect((void *)page_of(at), size, prot, -1);
    else
#endif
        failed = mprotect((void *)page_of(at), size, prot);
    check(failed == 0, "mprotect");
}

static void throw_switch(const char *way, code_word *at, int on) {
    protect(way, at, way_is(way, "apart") ? PROT_READ | PROT_WRITE : OPEN);
    put(at, on ? OFF : ON, on ? ON : OFF);
    if (!way_is(way, "open"))
        protect(way, at, PROT_READ | PROT_EXEC);
}

static void call_all(int first, int second) {
    for (int i = 0; i < CALLS; i++) {
        check(at_entry(i) == i + first, "the first switch");
        check(behind_entry(i) == i + second, "the second switch");
    }
}

static void throw_switches(const char *way) {
    for (int round = 0; round < rounds; round++) {
        throw_switch(way, &at_entry_switch, 1);
        call_all(2, 1);
        throw_switch(way, &behind_entry_switch, 1);
        call_all(2, 2);
        throw_switch(way, &at_entry_switch, 0);
        call_all(1, 2);
        throw_switch(way, &behind_entry_switch, 0);
        call_all(1, 1);
    }
}

/* ---- other threads ---- */

static atomic_int ended;

static void *call_in_thread(void *arg) {
    (void)arg;
    /* Sleeps in between: where one processor is emulated, the switches wait for these calls. */
    for (; !atomic_load(&ended); usleep(200))
        for (int i = 0; i < CALLS; i++) {
            int a = at_entry(i), b = behind_entry(i);
            check((a == i + 1 || a == i + 2) && (b == i + 1 || b == i + 2), "a switch in a thread");
        }
    return NULL;
}

static void open_and_close(void) {
    for (int round = 0; round < rounds * 4; round++) {
        protect("mprotect", &at_entry_switch, OPEN);
        protect("mprotect", &at_entry_switch, PROT_READ | PROT_EXEC);
        call_all(1, 1);
    }
}

static void with_threads(const char *way) {
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, call_in_thread, NULL) == 0, "thread");
    if (way_is(way, "unchanged"))
        open_and_close();
    else
        throw_switches("mprotect");
    atomic_store(&ended, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- others ---- */

static void with_child(void) {
    protect("mprotect", &at_entry_switch, OPEN);
    pid_t child = fork();
    check(child >= 0, "fork");
    put(&at_entry_switch, OFF, ON);
    protect("mprotect", &at_entry_switch, PROT_READ | PROT_EXEC);
    call_all(2, 1);
    throw_switch("mprotect", &at_entry_switch, 0);
    throw_switches("mprotect");
    int status = 0;
    if (!child)
        _exit(0);
    check(waitpid(child, &status, 0) == child && status == 0, "child");
}

static volatile sig_atomic_t thrown;

static void on_signal(int number) {
    (void)number;
    throw_switch("mprotect", &at_entry_switch, 1);
    throw_switch("mprotect", &at_entry_switch, 0);
    thrown++;
}

static void with_handler(void) {
    enum { SIGNALS = 10 };
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGALRM, &action, NULL);
    while (thrown < SIGNALS) {
        int before = thrown;
        ualarm(500, 0);
        while (thrown == before)
            check(at_entry(5) == 6 && behind_entry(5) == 6, "a switch under a handler");
    }
}

__attribute__((noinline)) static int open_page(int n) {
    protect("mprotect", &at_entry_switch, OPEN);
    return n + 1;
}

static void with_returns(void) {
    for (int i = 0; i < rounds; i++) {
        check(open_page(i) == i + 1, "open_page");
        put(&at_entry_switch, OFF, ON);
        call_all(2, 1);
        put(&at_entry_switch, ON, OFF);
        protect("mprotect", &at_entry_switch, PROT_READ | PROT_EXEC);
        call_all(1, 1);
    }
}

int main(int argc, char **argv) {
    check(argc == 2 || argc == 3, "usage");
    const char *way = argv[1];
    if (argc == 3)
        rounds = atoi(argv[2]);
    call_all(1, 1);
    if (way_is(way, "threads") || way_is(way, "unchanged"))
        with_threads(way);
    else if (way_is(way, "fork"))
        with_child();
    else if (way_is(way, "handler"))
        with_handler();
    else if (way_is(way, "returns"))
        with_returns();
    else
        throw_switches(way);
    check_work();
    return right();
}

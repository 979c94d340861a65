/*
 * Passes pointers that lead nowhere to traced functions, while SIGSEGV and SIGBUS are ignored,
 * blocked, or being handled. Its actions and masks are always its own.
 *
 *     wild_reads all|ignored|handled|often|attached
 *
 * all: the first such pointer comes while nothing is set. ignored, handled: it comes a while after
 * an action was set. often: so many come that spoor does not read there any more. attached: such
 * pointers come with SIGSEGV blocked, and another thread unmaps memory that is read, until a line
 * ends or "p" comes. Then none come until the next byte; at least one comes after that.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "self_check.h"

enum { PAGE = 4096, DIED = 99 };
static char *nowhere, *hole, *beyond_file;
static volatile sig_atomic_t handled, sent;

__attribute__((noinline)) int use(const char *text, int n) {
    __asm__ volatile("" : : "r"(text) : "memory");
    return n;
}

__attribute__((noinline)) int use_elsewhere(const char *text) {
    __asm__ volatile("" : : "r"(text) : "memory");
    return 0;
}

static int is_blocked(int sig) {
    sigset_t now;
    sigprocmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, sig);
}

static void set_blocked(int sig, int blocked) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    check(pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL) == 0, "mask");
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    struct sigaction now;
    use(nowhere, 1);
    use(beyond_file, 2);
    check(is_blocked(sig), "signal is blocked in its handler");
    sigaction(sig, NULL, &now);
    check(now.sa_sigaction == on_fault, "action in its handler");
    handled++;
    sent += info->si_code <= 0;
    if (info->si_code > 0)
        check(mprotect(hole, PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

static void handle(int sig) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaddset(&action.sa_mask, SIGUSR1);
    check(sigaction(sig, &action, NULL) == 0, "sigaction");
}

static void check_handled(int sig) {
    struct sigaction now;
    check(sigaction(sig, NULL, &now) == 0 && now.sa_sigaction == on_fault &&
              (now.sa_flags & (SA_SIGINFO | SA_ONSTACK)) == (SA_SIGINFO | SA_ONSTACK) &&
              sigismember(&now.sa_mask, SIGUSR1),
          "the handler stays");
}

static void check_simple(int sig, void (*handler)(int)) {
    struct sigaction now;
    check(sigaction(sig, NULL, &now) == 0 && now.sa_handler == handler, "the action stays");
}

static void own_signal_stack(void) {
    static __thread char *memory;
    memory = malloc(1 << 16);
    stack_t stack = {.ss_sp = memory, .ss_size = 1 << 16};
    check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
}

static void while_ignored(int sig, const char *pointer) {
    signal(sig, SIG_IGN);
    use(pointer, 3);
    check_simple(sig, SIG_IGN);
    set_blocked(sig, 1);
    use(pointer, 4);
    check(is_blocked(sig), "still blocked");
    check_simple(sig, SIG_IGN);
    set_blocked(sig, 0);
    use(pointer, 5);
    check_simple(sig, SIG_IGN);
    raise(sig);
}

static void while_blocked(int sig, const char *pointer) {
    const int before = handled;
    handle(sig);
    set_blocked(sig, 1);
    for (int i = 0; i < 3; i++)
        use(pointer, i);
    check(is_blocked(sig), "still blocked");
    check_handled(sig);
    raise(sig);
    use(pointer, 6);
    check(is_blocked(sig) && handled == before, "blocked and pending");
    set_blocked(sig, 0);
    check(handled == before + 1 && sent, "the signal that was pending");
    check_handled(sig);
    use(pointer, 7);
    check(!is_blocked(sig), "not blocked");
    signal(sig, SIG_DFL);
}

/* The program's own faults do what they do untraced. */
static void real_faults(void) {
    handle(SIGSEGV);
    for (int i = 0, before = handled; i < 3; i++) {
        check(mprotect(hole, PAGE, PROT_NONE) == 0, "mprotect");
        *(volatile char *)hole = 1;
        check(handled == before + i + 1, "own fault");
    }
    check(mprotect(hole, PAGE, PROT_NONE) == 0, "mprotect");
}

/* How a child ends that sets HANDLER, may block SIGSEGV, and faults. */
static int end_of_child(void (*handler)(int), int blocked) {
    int status;
    pid_t child = fork();
    if (!child) {
        if (handler)
            signal(SIGSEGV, handler);
        set_blocked(SIGSEGV, blocked);
        use(nowhere, 8);
        *(volatile char *)hole = 1;
        _exit(1);
    }
    check(waitpid(child, &status, 0) == child, "wait");
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void leave(int sig) {
    (void)sig;
    _exit(DIED);
}

static void deaths(void) {
    check(end_of_child(SIG_DFL, 0) == SIGSEGV, "death by a fault");
    check(end_of_child(SIG_DFL, 1) == SIGSEGV, "death by a blocked fault");
    check(end_of_child(SIG_IGN, 0) == SIGSEGV, "death by an ignored fault");
    check(end_of_child(leave, 0) == -DIED, "handled fault");
    check(end_of_child(leave, 1) == SIGSEGV, "death by a blocked fault that has a handler");
}

static void *other_thread(void *unused) {
    (void)unused;
    own_signal_stack();
    while_blocked(SIGSEGV, nowhere);
    while_blocked(SIGBUS, beyond_file);
    return NULL;
}

static void all(void) {
    pthread_t thread;
    use(nowhere, 0);
    check_simple(SIGSEGV, SIG_DFL);
    check(!is_blocked(SIGSEGV), "not blocked");
    while_ignored(SIGSEGV, nowhere);
    while_ignored(SIGBUS, beyond_file);
    while_blocked(SIGSEGV, nowhere);
    while_blocked(SIGBUS, beyond_file);
    check(pthread_create(&thread, NULL, other_thread, NULL) == 0, "thread");
    pthread_join(thread, NULL);
    real_faults();
    signal(SIGSEGV, SIG_DFL);
    deaths();
}

/* The first fault comes when the action was set a while ago. */
static void later(int ignored) {
    if (ignored)
        signal(SIGSEGV, SIG_IGN);
    else
        handle(SIGSEGV);
    sleep(2);
    set_blocked(SIGSEGV, !ignored);
    use(nowhere, 0);
    if (ignored)
        check_simple(SIGSEGV, SIG_IGN);
    else
        check_handled(SIGSEGV);
    check(is_blocked(SIGSEGV) == !ignored, "mask");
    set_blocked(SIGSEGV, 0);
    if (!ignored)
        real_faults();
}

static void often(void) {
    enum { TIMES = 5000 };
    use("early", 0);
    for (int i = 0; i < TIMES; i++)
        use(nowhere, i);
    use("late", 0);
    use_elsewhere("elsewhere");
    while_ignored(SIGSEGV, nowhere);
    while_blocked(SIGSEGV, nowhere);
}

/* A page that comes and goes, with a text. */
static void *come_and_go(void *at) {
    for (;;) {
        char *page =
            mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        check(page == at, "mmap");
        memcpy(page, "here", sizeof "here");
        usleep(100);
        munmap(page, PAGE);
    }
    return NULL;
}

static void use_while_blocked(const char *page, int i) {
    use(nowhere, i);
    for (int k = 0; k < 10; k++)
        use_elsewhere(page);
    check(is_blocked(SIGSEGV), "still blocked");
    check_handled(SIGSEGV);
}

/* The next byte of the input; 0 at its end. */
static char read_order(void) {
    char order;
    return read(0, &order, 1) == 1 ? order : 0;
}

static void attached(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t thread;
    check(pthread_create(&thread, NULL, come_and_go, page) == 0, "thread");
    handle(SIGSEGV);
    set_blocked(SIGSEGV, 1);
    check(write(1, "ready\n", 6) == 6, "output");
    for (int i = 0;; i++) {
        use_while_blocked(page, i);
        if (poll(&input, 1, 1) == 0)
            continue;
        if (read_order() != 'p')
            break;
        check(write(1, "paused\n", 7) == 7, "output");
        read_order();
    }
    set_blocked(SIGSEGV, 0);
    real_faults();
}

static char *map(int protection, int flags, int fd) {
    char *at = mmap(NULL, PAGE, protection, flags, fd, 0);
    check(at != MAP_FAILED, "mmap");
    return at;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "all";
    own_signal_stack();
    hole = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    nowhere = map(PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1) + 8;
    FILE *file = tmpfile(); /* empty: reads behind its end are SIGBUS */
    check(file != NULL, "file");
    beyond_file = map(PROT_READ, MAP_SHARED, fileno(file));
    if (strcmp(how, "all") == 0)
        all();
    else if (strcmp(how, "often") == 0)
        often();
    else if (strcmp(how, "attached") == 0)
        attached();
    else
        later(strcmp(how, "ignored") == 0);
    return right();
}

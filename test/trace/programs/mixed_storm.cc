/*
 * Two threads throw, jump, switch stacks and end threads for a while. SIGALRM arrives every 300
 * microseconds, and its handler jumps, too. The results must be right, whenever signals arrive.
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <thread>
#include <ucontext.h>
#include <vector>

#include "expect.h"

enum { LAPS = 400, SIGNALS = 200, STACK_BYTES = 128 * 1024 };

static volatile int zero;
static volatile sig_atomic_t signals, wrong;

struct Guard {
    explicit Guard(int &n) : count(n) { ++count; }
    NOINLINE ~Guard();
    int &count;
};
Guard::~Guard() { --count; }

static NOINLINE int dive(int depth, int &alive) {
    Guard guard(alive);
    if (depth == zero)
        throw std::runtime_error("bottom");
    return dive(depth - 1, alive) + 1;
}

static NOINLINE int throws(int depth) {
    int alive = 0;
    try {
        try {
            dive(depth, alive);
        } catch (const std::runtime_error &) {
            throw std::logic_error("again");
        }
    } catch (const std::exception &e) {
        return e.what()[0] + alive;
    }
    return -1;
}

static NOINLINE int jump_from(int depth, jmp_buf &back) {
    if (depth == zero)
        longjmp(back, 5);
    return jump_from(depth - 1, back) + 1;
}

static NOINLINE int jumps(int depth) {
    jmp_buf back;
    int code = setjmp(back);
    return code ? code : jump_from(depth, back);
}

static void on_alarm(int) {
    if (jumps(3) != 5)
        wrong = wrong + 1;
    signals = signals + 1;
}

/* ---- coroutines that throw ---- */

struct Coroutine {
    ucontext_t own, caller;
    std::vector<char> stack;
    long sum;
    bool ended;
};

static thread_local Coroutine *starting;

static NOINLINE void yield(Coroutine &c) { swapcontext(&c.own, &c.caller); }

static NOINLINE long step(Coroutine &c, int depth) {
    int alive = 0;
    Guard guard(alive);
    yield(c);
    if (depth == 0)
        throw depth + 7 + zero;
    return step(c, depth - 1) + alive;
}

static void coroutine() {
    Coroutine &c = *starting;
    for (int i = 0; i < 3; i++) {
        try {
            c.sum += step(c, i);
        } catch (int n) {
            c.sum = c.sum * 3 + n;
        }
        yield(c); /* not inside the handler: caught exceptions belong to the thread */
    }
    c.ended = true;
    yield(c);
}

static NOINLINE long coroutines() {
    std::vector<Coroutine> all(3);
    long sum = 0;
    for (auto &c : all) {
        c.stack.resize(STACK_BYTES);
        getcontext(&c.own);
        c.own.uc_stack.ss_sp = c.stack.data();
        c.own.uc_stack.ss_size = c.stack.size();
        makecontext(&c.own, coroutine, 0);
    }
    for (bool any = true; any;) {
        any = false;
        for (auto &c : all) {
            if (c.ended)
                continue;
            any = true;
            starting = &c;
            swapcontext(&c.caller, &c.own);
        }
    }
    for (auto &c : all)
        sum = sum * 3 + c.sum;
    return sum;
}

/* ---- threads that end ---- */

static NOINLINE void end_at(int depth, int &alive) {
    Guard guard(alive);
    if (depth == zero)
        pthread_exit(&alive);
    end_at(depth - 1, alive);
}

static NOINLINE int ends() {
    int alive = 0;
    pthread_t thread;
    auto body = [](void *n) -> void * {
        end_at(5, *static_cast<int *>(n));
        return nullptr;
    };
    pthread_create(&thread, nullptr, body, &alive);
    pthread_join(thread, nullptr);
    return alive;
}

static void work(long *result) {
    long sum = 0;
    for (int i = 0; i < LAPS; i++) {
        sum = (sum * 3 + throws(i % 7) + jumps(i % 11)) % 1000003;
        if (i % 8 == 0)
            sum = (sum * 3 + coroutines() + ends()) % 1000003;
    }
    *result = sum;
}

int main() {
    struct itimerval timer = {{0, 300}, {0, 300}}, off = {{0, 0}, {0, 0}};
    struct sigaction action = {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    setitimer(ITIMER_REAL, &timer, nullptr);
    long here, there, again;
    std::thread thread(work, &there);
    work(&here);
    thread.join();
    while (signals < SIGNALS)
        work(&again);
    setitimer(ITIMER_REAL, &off, nullptr);
    std::printf("%ld %ld %d\n", here, there, static_cast<int>(wrong));
}

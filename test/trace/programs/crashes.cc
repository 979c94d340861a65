/*
 * Ends with a core dump, out of deep frames, while another thread runs in and out of a traced
 * function: crashes HOW
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

#include "expect.h"

static volatile int zero;
static volatile int ready;

struct Thrower {
    NOINLINE ~Thrower() noexcept(false);
};

Thrower::~Thrower() noexcept(false) {
    if (!zero)
        throw std::logic_error("from a destructor");
}

static NOINLINE int thrower(int n) {
    if (n >= zero)
        throw std::runtime_error("thrown");
    return n;
}

/* The exception reaches a noexcept function. */
static NOINLINE int lets_none_pass(int n) noexcept { return thrower(n + 1) + 1; }

static NOINLINE int throws_twice(int n) {
    Thrower thrower_too;
    return thrower(n + zero) + 1;
}

/* The fault is in the window of the function's entry. */
static NOINLINE int faults(const int *place) { return *place; }

static NOINLINE int aborts(int n) {
    if (n >= zero)
        std::abort();
    return n;
}

/* The core takes long to write. */
static NOINLINE int faults_with_much_memory() {
    static const size_t bytes = 300 << 20;
    char *memory = static_cast<char *>(std::malloc(bytes));
    std::memset(memory, 1 + zero, bytes);
    __asm__ volatile("" ::"r"(memory) : "memory");
    return faults(reinterpret_cast<const int *>(16)) + memory[1];
}

static NOINLINE int end(char how) {
    switch (how) {
    case 'm':
        return faults_with_much_memory() + 1;
    case 'n':
        return lets_none_pass(1) + 1;
    case 'd':
        return throws_twice(1) + 1;
    case 'f':
        return faults(reinterpret_cast<const int *>(16)) + 1;
    default:
        return aborts(1) + 1;
    }
}

static NOINLINE int dive(int depth, char how) {
    return (depth ? dive(depth - 1, how) : end(how)) + zero;
}

static NOINLINE int busy(int n) { return n * 3 + zero; }

static NOINLINE int busy_loop() {
    int n = zero;
    for (int i = 0; i < 100; i++)
        n = busy(n);
    ready = 1; /* set without a call, which the core might show */
    while (!zero)
        n = busy(n);
    return n;
}

static void *body(void *) {
    std::printf("%d\n", busy_loop());
    return nullptr;
}

int main(int argc, char **argv) {
    pthread_t thread;
    if (argc < 2)
        return 2;
    pthread_create(&thread, nullptr, body, nullptr);
    while (!ready)
        usleep(1000);
    return dive(5, argv[1][0]);
}

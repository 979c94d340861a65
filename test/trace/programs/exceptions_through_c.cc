/*
 * Exceptions pass frames of C libraries that called back a function: qsort, bsearch, twalk,
 * dl_iterate_phdr, call_once, and algorithms of the C++ library. One is kept by a thread and
 * rethrown in another.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <link.h>
#include <mutex>
#include <search.h>
#include <stdexcept>
#include <thread>

#include "expect.hpp"

static volatile int zero;
static std::once_flag once;
static int once_calls;

static NOINLINE void throws(int n) {
    Traced traced("throws(int)");
    if (n >= zero)
        throw std::runtime_error(std::to_string(n));
}

static NOINLINE int compare(const void *, const void *) {
    Traced traced("compare(void const*, void const*)");
    throws(1);
    return 0;
}

static NOINLINE void visit(const void *, VISIT, int) {
    Traced traced("visit(void const*, VISIT, int)");
    throws(2);
}

static NOINLINE int look_at(struct dl_phdr_info *, size_t, void *) {
    Traced traced(sizeof(std::size_t) == sizeof(unsigned)
                      ? "look_at(dl_phdr_info*, unsigned int, void*)"
                      : "look_at(dl_phdr_info*, unsigned long, void*)");
    throws(3);
    return 0;
}

static NOINLINE void begin() {
    Traced traced("begin()");
    if (++once_calls < 4)
        throws(once_calls);
}

static NOINLINE bool is_less(int, int) {
    Traced traced("is_less(int, int)");
    throws(4);
    return false;
}

static int numbers[] = {3, 2, 1};

static NOINLINE void through(int how) {
    Traced traced("through(int)");
    void *root = nullptr;
    switch (how) {
    case 0:
        qsort(numbers, 3, sizeof *numbers, compare);
        break;
    case 1:
        (void)!bsearch(numbers, numbers, 3, sizeof *numbers, compare);
        break;
    case 2:
        tsearch(numbers, &root, compare); /* the first insertion compares nothing */
        twalk(root, visit);
        break;
    case 3:
        dl_iterate_phdr(look_at, nullptr);
        break;
    case 4:
        std::call_once(once, begin);
        break;
    default:
        std::stable_sort(numbers, numbers + 3, is_less);
        break;
    }
}

static NOINLINE int catches(int how) {
    Traced traced("catches(int)");
    try {
        through(how);
        return 0;
    } catch (const std::exception &e) {
        return e.what()[0];
    }
}

static NOINLINE unsigned everything() {
    Traced traced("everything()");
    unsigned sum = 0;
    for (int i = 0; i < 4; i++)
        for (int how = 0; how < 6; how++)
            sum = sum * 3 + static_cast<unsigned>(catches(how));
    return sum;
}

static NOINLINE std::exception_ptr keeps() {
    std::exception_ptr kept;
    Traced traced("keeps()");
    try {
        throws(7);
    } catch (...) {
        kept = std::current_exception();
    }
    return kept;
}

static NOINLINE void throws_on(std::exception_ptr kept) {
    Traced traced("throws_on(std::__exception_ptr::exception_ptr)");
    std::rethrow_exception(kept);
}

static NOINLINE int body(std::exception_ptr kept, int number) {
    expect_thread(number);
    Traced traced("body(std::__exception_ptr::exception_ptr, int)");
    try {
        throws_on(kept);
    } catch (const std::runtime_error &e) {
        return e.what()[0];
    }
    return 0;
}

int main() {
    {
        Traced traced("main");
        std::printf("%u\n", everything());
        auto kept = keeps();
        int results[3];
        {
            std::thread threads[3];
            for (int i = 0; i < 3; i++)
                threads[i] = std::thread([&, i] { results[i] = body(kept, i + 1); });
            for (auto &thread : threads)
                thread.join();
        }
        std::printf("%d %d %d\n", results[0], results[1], results[2]);
    }
    expect_print();
    return 0;
}

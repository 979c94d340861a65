/* Keeps marks in fixed tables: setting a mark needs a single atomic addition. */
#include "expect.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct mark {
    const char *function;
    unsigned order; /* the order of marks on shared stacks */
    char mark;
    uint8_t stack;
};

static struct log {
    struct mark marks[EXPECT_MARKS];
    unsigned used;
} logs[EXPECT_THREADS];

static __thread int current;
static __thread int stack;
static unsigned shared_marks;

void expect(char mark, const char *function) {
    struct log *log = &logs[current];
    unsigned at = __atomic_fetch_add(&log->used, 1, __ATOMIC_RELAXED);
    if (at >= EXPECT_MARKS)
        abort();
    unsigned order =
        stack < EXPECT_SHARED ? 0 : __atomic_fetch_add(&shared_marks, 1, __ATOMIC_RELAXED);
    log->marks[at] = (struct mark){function, order, mark, (uint8_t)stack};
}

void expect_all(const char *first, ...) {
    va_list rest;
    va_start(rest, first);
    for (const char *text = first; text; text = va_arg(rest, const char *))
        expect(text[0], text + 2);
    va_end(rest);
}

void expect_thread(int thread) {
    if (thread < 0 || thread >= EXPECT_THREADS)
        abort();
    current = thread;
}

void expect_stack(int number) { stack = number; }

static void expect_clear(void) {
    for (int i = 0; i < EXPECT_THREADS; i++)
        logs[i].used = 0;
}

enum { MOST_OPEN = 64 };

/* Fills OPEN with the marks of the calling thread's open calls, and returns their number. */
static unsigned expect_find_open(struct mark *open) {
    unsigned count = 0;
    for (unsigned i = 0; i < logs[current].used; i++) {
        struct mark m = logs[current].marks[i];
        unsigned at = count;
        if (m.mark == '>' || m.mark == '+') {
            if (count == MOST_OPEN)
                abort();
            open[count++] = m;
            continue;
        }
        while (at && open[at - 1].stack != m.stack)
            at--;
        for (count -= at > 0; at && at <= count; at++)
            open[at - 1] = open[at];
    }
    return count;
}

static void expect_begin(const struct mark *open, unsigned count, int thread) {
    int former = stack;
    expect_thread(thread);
    for (unsigned i = 0; i < count; i++) {
        stack = open[i].stack;
        expect('+', open[i].function);
    }
    stack = former;
}

void expect_forked(int thread) {
    struct mark open[MOST_OPEN];
    expect_begin(open, expect_find_open(open), thread);
}

void expect_forget(int thread) {
    struct mark open[MOST_OPEN];
    unsigned count = expect_find_open(open);
    expect_clear();
    expect_begin(open, count, thread);
}

void expect_print(void) {
    for (int thread = 0; thread < EXPECT_THREADS; thread++) {
        const struct log *log = &logs[thread];
        for (const struct mark *m = log->marks; m < log->marks + log->used; m++) {
            if (m->stack >= EXPECT_SHARED)
                printf("|%d.%d@%u %c %s\n", thread, m->stack, m->order, m->mark, m->function);
            else if (m->stack)
                printf("|%d.%d %c %s\n", thread, m->stack, m->mark, m->function);
            else
                printf("|%d %c %s\n", thread, m->mark, m->function);
        }
    }
    expect_clear();
    fflush(stdout);
}

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

void expect_forget(int thread) {
    for (int i = 0; i < EXPECT_THREADS; i++)
        logs[i].used = 0;
    expect_thread(thread);
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
    expect_forget(current);
    fflush(stdout);
}

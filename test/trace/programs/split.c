/* Stacks that grow in pieces (-fsplit-stack): functions that find no room for their frame run it on
 * a new piece, and return through code of the compiler's. Deep, again and again at the border of a
 * piece, with variable frames, with longjmp, in threads. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

enum { DEPTH = 30, THREADS = 3, STACK_BYTES = 128 * 1024 };

static volatile int zero;
static __thread jmp_buf back;

static NOINLINE long fill(unsigned char *room, long bytes) {
    memset(room, 1, (size_t)bytes);
    return room[bytes / 2] + zero;
}

static NOINLINE long deep(int depth) {
    unsigned char room[5000];
    ENTER;
    long sum = LEAF(fill, room, sizeof room) + (depth ? deep(depth - 1) : 0);
    LEAVE;
    return sum;
}

/* Whatever the room left, one of these calls comes to the border. */
static NOINLINE long at_border(int depth) {
    unsigned char room[900];
    ENTER;
    long sum = depth;
    for (int i = 0; i < 2; i++)
        sum += LEAF(fill, room, sizeof room);
    if (depth)
        sum += at_border(depth - 1);
    LEAVE;
    return sum;
}

static NOINLINE long varies(int depth) {
    ENTER;
    unsigned char *room = alloca((size_t)depth * 1000 + 1);
    long sum = LEAF(fill, room, depth * 1000 + 1);
    if (depth)
        sum += varies(depth - 1);
    LEAVE;
    return sum;
}

static NOINLINE int jump(int depth) {
    unsigned char room[5000];
    ENTER;
    if (LEAF(fill, room, sizeof room) + depth > 1)
        return jump(depth - 1) + room[zero];
    for (int i = 0; i <= 10; i++)
        UNWOUND;
    longjmp(back, 1);
}

static NOINLINE long returns_twice(void) {
    volatile long count = 0;
    ENTER;
    if (setjmp(back) != 0)
        count++;
    if (count < 3)
        jump(10);
    LEAVE;
    return count;
}

static NOINLINE long everything(void) {
    ENTER;
    long sum = deep(DEPTH);
    for (int i = 0; i < 3; i++)
        sum = sum * 3 + at_border(DEPTH);
    sum = sum * 3 + varies(20);
    sum = sum * 3 + returns_twice();
    LEAVE;
    return sum;
}

static NOINLINE void *body(void *argument) {
    long *result = argument;
    expect_thread((int)*result);
    ENTER;
    *result = everything();
    LEAVE;
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    long results[THREADS];
    pthread_attr_t small;
    ENTER;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    for (int i = 0; i < THREADS; i++) {
        results[i] = i + 1;
        pthread_create(&threads[i], &small, body, &results[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld\n", everything());
    for (int i = 0; i < THREADS; i++)
        printf("%ld\n", results[i]);
    LEAVE;
    expect_print();
    return 0;
}

/* Calls leaf() inside request() and outside, in two threads; an exception-like jump leaves one
 * request(). Ends with status 7. */
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

static volatile int sum;
static jmp_buf out;

__attribute__((noinline)) static void leaf(int i) { sum += i; }

__attribute__((noinline)) static void request(int leaves, int leaves_by_jump) {
    for (int i = 0; i < leaves; i++)
        leaf(i);
    if (leaves_by_jump)
        longjmp(out, 1);
    sum++;
}

__attribute__((noinline)) static void other(int i) {
    leaf(i);
    leaf(i);
    sum++;
}

static void *work(void *arg) {
    for (int i = 0; i < 5; i++) {
        other(i);
        request(2, 0);
    }
    return arg;
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        other(i);
        request(i, 0);
    }
    if (!setjmp(out))
        request(7, 1);
    other(1);
    request(4, 0);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 7;
}

/*
 * Two threads load and unload a library each, again and again. Meanwhile a third thread runs code
 * and the first one forks.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "twins.h"

enum { ROUNDS = 15, CHILDREN = 5, FIRST_CHILD = 10 };

static const char *const marks[2][TWIN_MARKS] = {TWIN_MARKS_OF("twin-a.so", "a"),
                                                 TWIN_MARKS_OF("twin-b.so", "b")};
static const char *paths[2];
static int results[2];
static volatile int zero;

static NOINLINE int leaf(int n) { return n * 3 + zero; }

static NOINLINE void *load(void *arg) {
    int which = arg == paths + 1;
    expect_thread(1 + which);
    ENTER;
    for (int i = 0; i < ROUNDS; i++) {
        struct twin t = twin_open(LM_ID_BASE, paths[which], marks[which]);
        results[which] += twin_use(&t, i);
        twin_close(&t);
    }
    LEAVE;
    return NULL;
}

static NOINLINE void *work(void *arg) {
    int *calls = arg;
    expect_thread(3);
    ENTER;
    while (++*calls < 2000)
        (void)LEAF(leaf, *calls);
    LEAVE;
    return NULL;
}

static NOINLINE void in_child(int number) {
    expect_forget(FIRST_CHILD + number);
    ENTER;
    int n = LEAF(leaf, number);
    UNWOUND;
    expect('!', "main");
    expect_print();
    _exit(n);
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    int calls = 0, status, sum = 0;
    if (argc < 3)
        return 2;
    ENTER;
    for (int i = 0; i < 2; i++) {
        paths[i] = argv[1 + i];
        pthread_create(&threads[i], NULL, load, (void *)(paths + i));
    }
    pthread_create(&threads[2], NULL, work, &calls);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0)
            in_child(i);
        waitpid(child, &status, 0);
        sum += WEXITSTATUS(status);
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    pthread_join(threads[2], NULL);
    printf("%d %d %d\n", results[0], results[1], sum);
    LEAVE;
    expect_print();
    return 0;
}

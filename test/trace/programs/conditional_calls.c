/*
 * Calls that conditions choose among: by numbers, members, enumerators, texts and results; in
 * recursion, below longjmp, and in two threads. With arguments it answers each line of its input by
 * another round.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>

#define CALLED __attribute__((noipa))

enum kind { PEN = 1, INK = 7 };
struct order {
    int id;
    enum kind kind;
    double price;
    const char *name;
};

static jmp_buf before;

CALLED static int leaf(int n) { return n * 2; }
CALLED static int answer(int n) { return leaf(n) > 6 ? -n : n; }
CALLED static double buy(const struct order *o, const char *name) {
    return leaf(*name) ? o->price * 2 : 0;
}
CALLED static double half(double x, float y) { return x / 2 + y; }
CALLED static const char *first_name(const struct order *orders) { return orders->name; }
CALLED static int down(int n) { return n ? down(n - 1) + 1 : 0; }
CALLED static void thrower(int n) {
    leaf(n);
    longjmp(before, 1);
}
CALLED static void catcher(int n) {
    if (!setjmp(before))
        thrower(n);
}
CALLED static void outer(int n) {
    catcher(n);
    leaf(n);
}
/* Its leaf() begins below the place where thrower() was. */
CALLED static void lowered(int n) {
    outer(n);
    volatile char *room = __builtin_alloca(4096U + (unsigned)n);
    room[0] = 0;
    leaf(n);
}

static int counted;
CALLED static int counter(void) {
    counted++;
    return counted % 2 ? -counted : counted;
}

CALLED static void *work(void *unused) {
    for (int i = 0; i < 6; i++)
        answer(i);
    return unused;
}

static void run(void) {
    static const struct order orders[] = {
        {1, PEN, 50, "abc"}, {2, INK, 150.5, "xyz"}, {3, PEN, 200, "abcd"}};
    for (int i = 0; i < 6; i++)
        answer(i);
    for (int i = 0; i < 4; i++)
        counter();
    for (int i = 0; i < 3; i++)
        buy(&orders[i], orders[i].name);
    half(3, 0.5F);
    first_name(orders);
    down(5);
    for (int i = 0; i < 4; i++)
        lowered(i);
}

int main(int argc, char *argv[]) {
    char line[80];
    pthread_t thread;
    (void)argv;
    run();
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    while (argc > 1 && fgets(line, sizeof line, stdin)) {
        run();
        printf("%d\n", getpid());
        fflush(stdout);
    }
    return 0;
}

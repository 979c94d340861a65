/*
 * Loads and unloads two libraries in turn, two hundred times, each at the address that the other
 * one has left.
 */
#include "twins.h"

static const char *const marks[2][TWIN_MARKS] = {TWIN_MARKS_OF("twin-a.so", "a"),
                                                 TWIN_MARKS_OF("twin-b.so", "b")};

static NOINLINE int use(const char *path, int round, void **ret_base) {
    ENTER;
    struct twin t = twin_open(LM_ID_BASE, path, marks[round % 2]);
    int result = twin_use(&t, round);
    twin_close(&t);
    *ret_base = t.base;
    LEAVE;
    return result;
}

int main(int argc, char **argv) {
    int total = 0, again = 0;
    void *base = NULL, *before;
    if (argc < 3)
        return 2;
    ENTER;
    for (int round = 0; round < 200; round++) {
        before = base;
        total += use(argv[1 + round % 2], round, &base);
        again += base == before;
    }
    printf("%d, %s\n", total, again > 150 ? "mostly at one address" : "at many addresses");
    LEAVE;
    expect_print();
    return 0;
}

/* dlmopen(): the same libraries are loaded several times, each copy with a C library of its own. */
#include "twins.h"

static const char *const marks[2][TWIN_MARKS] = {TWIN_MARKS_OF("twin-a.so", "a"),
                                                 TWIN_MARKS_OF("twin-b.so", "b")};

enum { COPIES = 5 };

static NOINLINE int use(char *const *paths) {
    struct twin copies[COPIES];
    int sum = 0;
    ENTER;
    for (int i = 0; i < COPIES; i++)
        copies[i] = twin_open(i ? LM_ID_NEWLM : LM_ID_BASE, paths[i % 2], marks[i % 2]);
    for (int i = 0; i < COPIES; i++)
        sum += twin_use(&copies[i], i);
    for (int i = 0; i < COPIES; i++)
        twin_close(&copies[i]);
    LEAVE;
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    ENTER;
    for (int round = 0; round < 5; round++)
        printf("%d\n", use(argv + 1));
    LEAVE;
    expect_print();
    return 0;
}

/* Calls the functions of odd_shapes-code.S, which compilers do not write. */
#include <stdio.h>

#include "expect.h"

long fall_first(long n), fall_second(long n), fall_far(long n), fall_second_far(long n);
long fall_checked(long n, long most), fall_after_check(long n, long most);
long loop_head(long n), loop_head_jump(long n), loop_red_zone(long n, long first);
long shared_tail(long n), shares_tail(long n);
long carries(long n), two_ways(long n), long_way(long n), counts(long n), early(long n);
long tiny_zero(void), tiny_move(long n);
void tiny(void);

static NOINLINE void print(const char *name, long value) { printf("%s %ld\n", name, value); }

static void expect_jump(const char *from, const char *to) {
    expect('>', from);
    expect('<', from);
    expect('>', to);
    expect('<', to);
}

static void expect_print_call(void) { expect_all("> print", "< print", NULL); }

#define SHOW(call)                                                                                 \
    do {                                                                                           \
        long value = (call);                                                                       \
        expect_print_call();                                                                       \
        print(#call, value);                                                                       \
    } while (0)

int main(void) {
    ENTER;
    expect_jump("fall_first", "fall_second");
    SHOW(fall_first(5));
    SHOW(LEAF(fall_second, 6));
    expect_jump("fall_far", "fall_second_far");
    SHOW(fall_far(5));
    SHOW(LEAF(fall_second_far, 6));
    expect_jump("fall_checked", "fall_after_check");
    SHOW(fall_checked(5, 8));
    expect_jump("fall_checked", "fall_second");
    SHOW(fall_checked(5, 2));
    SHOW(LEAF(fall_after_check, 6, 9));
    SHOW(LEAF(loop_head, 7));
    SHOW(LEAF(loop_head_jump, 7));
    SHOW(LEAF(loop_red_zone, 9, 1));
    SHOW(LEAF(shared_tail, 3));
    SHOW(LEAF(shares_tail, 4));
    for (long n = -3; n < 4; n += 6) {
        expect_all("> carries", "> sign_in_carry", "< sign_in_carry", "< carries", NULL);
        SHOW(carries(n));
    }
    SHOW(LEAF(two_ways, 3));
    expect_jump("two_ways", "other_way");
    SHOW(two_ways(30));
    SHOW(LEAF(long_way, 3));
    SHOW(LEAF(counts, 0));
    SHOW(LEAF(counts, 12));
    SHOW(LEAF(early, 3));
    expect_all("> tiny", "< tiny", NULL);
    tiny();
    SHOW(LEAF(tiny_zero));
    SHOW(LEAF(tiny_move, 4));
    LEAVE;
    expect_print();
    return 0;
}

/* Calls the functions of narrow-code.S, whose sites have little room. */
#include <setjmp.h>
#include <stdio.h>
#include <sys/personality.h>
#include <unistd.h>

#include "expect.h"

#define DECLARE_SET(tier)                                                                          \
    long tier##_entry(long), tier##_return(long), tier##_tail(long), tier##_branch(long);          \
    long tier##_pointer(long, long (*)(long)), tier##_tail_leaf(long);                             \
    long tier##_second(void);
DECLARE_SET(hop)
DECLARE_SET(pun)
long ways_short(long), ways_long(long), pun_least(long), hop_made(long), hop_spared(long),
    jump_giver(void), jump_spender(long);
#define CHAIN(link) link(0) link(1) link(2) link(3) link(4) link(5) link(6) link(7) link(8) link(9)
#define DECLARE_LINK(i) long chain##i(void);
CHAIN(DECLARE_LINK)

extern jmp_buf environment;
void jump_back(long n);
int call_deeper(void);

static int wrong;

static void check(long value, long wanted, const char *what) {
    if (value != wanted) {
        printf("%s: %ld instead of %ld\n", what, value, wanted);
        wrong = 1;
    }
}

NOINLINE void jump_back(long n) {
    ENTER;
    check(n, 3, "an argument");
    UNWOUND;
    longjmp(environment, 1);
}

NOINLINE int call_deeper(void) {
    ENTER;
    LEAVE;
    return 4;
}

static void expect_jump(const char *from, const char *to) {
    expect('>', from);
    expect('<', from);
    expect('>', to);
    expect('<', to);
}

#define DRIVE_SET(tier)                                                                            \
    static NOINLINE void drive_##tier(long n) {                                                    \
        check(LEAF(tier##_entry, n), n, #tier "_entry");                                           \
        for (long i = n; i >= -n; i -= n)                                                          \
            check(LEAF(tier##_return, i), i > 0 ? i + 1000 : -i, #tier "_return");                 \
        check(LEAF(tier##_tail, n), n + 1000, #tier "_tail");                                      \
        check(LEAF(tier##_tail, -n), n, #tier "_tail");                                            \
        expect_jump(#tier "_tail", #tier "_tail_leaf");                                            \
        check(tier##_tail(0), 77, #tier "_tail");                                                  \
        check(LEAF(tier##_branch, n), n + 1000, #tier "_branch");                                  \
        check(LEAF(tier##_branch, 0), 0, #tier "_branch");                                         \
        check(LEAF(tier##_branch, 5), -5, #tier "_branch");                                        \
        expect_jump(#tier "_branch", #tier "_branch_leaf");                                        \
        check(tier##_branch(-n), 88 - n, #tier "_branch");                                         \
        check(LEAF(tier##_pointer, n, tier##_tail_leaf), n + 1000, #tier "_pointer");              \
        check(LEAF(tier##_pointer, -n, tier##_tail_leaf), n, #tier "_pointer");                    \
        expect_jump(#tier "_pointer", #tier "_tail_leaf");                                         \
        check(tier##_pointer(0, tier##_tail_leaf), 77, #tier "_pointer");                          \
        check(LEAF(tier##_second), 4, #tier "_second");                                            \
    }
DRIVE_SET(hop)
DRIVE_SET(pun)

static NOINLINE void drive_others(long n) {
    for (long i = n; i >= -n; i -= n)
        check(LEAF(pun_least, i), i > 0 ? i + 1000 : -i, "pun_least");
    for (long i = -n; i <= n; i += n)
        check(LEAF(ways_short, i), i > 0 ? i + 1000 : -i, "ways_short");
    for (long i = -3; i <= 3; i++)
        check(LEAF(ways_long, i), i == -2 ? 0 : i == 2 ? 2 : i == 0 ? 77 : -i, "ways_long");
    check(LEAF(hop_made, n), n, "hop_made");
    check(LEAF(jump_giver), ((1 + 0x1000) ^ 0x2000) + 0x3000, "jump_giver");
    check(LEAF(hop_spared, n), n, "hop_spared");
    check(LEAF(jump_spender, n), 0x123456789ab + n, "jump_spender");
#define DRIVE_LINK(i) check(LEAF(chain##i), 0, "chain" #i);
    CHAIN(DRIVE_LINK)
}

/* The heap's start must not be random, so that no pun's target is near it. */
__attribute__((constructor)) static void expect_no_chance(int argc, char **argv) {
    int present = personality(0xffffffff);
    if (argc && !(present & ADDR_NO_RANDOMIZE) && personality(present | ADDR_NO_RANDOMIZE) >= 0 &&
        personality(0xffffffff) & ADDR_NO_RANDOMIZE)
        execv("/proc/self/exe", argv);
}

int main(void) {
    ENTER;
    for (long n = 1; n < 4; n++) {
        expect_all("> drive_hop", NULL);
        drive_hop(n);
        expect_all("< drive_hop", "> drive_pun", NULL);
        drive_pun(n);
        expect_all("< drive_pun", "> drive_others", NULL);
        drive_others(n);
        expect_all("< drive_others", NULL);
    }
    LEAVE;
    expect_print();
    return wrong;
}

// Functions by whose names test_select.c selects.
extern "C" {
__attribute__((noinline)) int plain_alpha(int x) { return x * 3 + 1; }
__attribute__((noinline)) int plain_beta(int x) { return x * 5 + 2; }
__attribute__((noinline, alias("plain_beta"))) int plain_second(int x);
}
__attribute__((noinline)) int pick(int *x) { return *x * 13 + 6; }
__attribute__((noinline)) int pick(int x, char *c) { return x * 17 + *c; }
namespace space {
struct Thing {
    __attribute__((noinline)) int member(int x, const char *) const { return x * 7 + 3; }
};
template <typename T> __attribute__((noinline)) T shaped(T x) { return x * 9 + 4; }
__attribute__((noinline)) int operator+(const Thing &, int x) { return x * 11 + 5; }
} // namespace space

// Returns to its argument, not to its caller: never traced.
asm(".text; .type plain_impossible, @function; plain_impossible: push %rdi; ret; "
    ".size plain_impossible, . - plain_impossible");

int (*volatile uses)(int) = plain_alpha;
int use(int x);
int use(int x) {
    space::Thing thing;
    return uses(x) + plain_beta(x) + thing.member(x, "") + space::shaped(x) +
           space::shaped((long)x) + (thing + x) + pick(&x) + pick(x, (char *)&x);
}

/* Functions with arguments and results of each kind, called with known values. */
#include <complex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
struct item {
    int id;
    double price;
    char *name;
};
enum color { RED, GREEN = 7, BLUE = -3 };
enum flags { F_A = 1, F_B = 2, F_C = 4 };
struct small {
    short a;
    char c[5];
};
struct bits {
    unsigned a : 3, b : 9;
    int c : 5;
    bool on : 1;
};
union num {
    int i;
    float f;
};
struct big {
    char text[100];
    int n;
};
typedef int (*compare)(const void *, const void *);
struct list {
    struct list *next;
    int value;
};
__attribute__((noinline)) struct item make(int i) {
    struct item it = {i, i * 1.5, "o3"};
    __asm__ volatile("");
    return it;
}
__attribute__((noinline)) int ints(char a, short b, int c, long d, unsigned char e, unsigned long f,
                                   long long g, unsigned h) {
    __asm__ volatile("" ::: "memory");
    return a + b + c + (int)d + e + (int)f + (int)g + (int)h;
}
__attribute__((noinline)) double floats(float a, double b, long double c, float _Complex z) {
    __asm__ volatile("" ::: "memory");
    return a + b + (double)c + crealf(z);
}
__attribute__((noinline)) long double ld(long double x) {
    __asm__ volatile("" ::: "memory");
    return x * 2;
}
__attribute__((noinline)) enum color colors(enum color c, enum flags f, bool b) {
    __asm__ volatile("" ::: "memory");
    return b && f ? c : RED;
}
__attribute__((noinline)) struct small smalls(struct small s, struct bits b, union num n) {
    __asm__ volatile("" ::: "memory");
    s.a += b.a + n.i;
    return s;
}
__attribute__((noinline)) int bigs(struct big b, int x) {
    __asm__ volatile("" ::: "memory");
    return b.n + x;
}
__attribute__((noinline)) int by_pointer(struct item *o, const char *s, wchar_t *w, void *p) {
    __asm__ volatile("" ::: "memory");
    return o->id + (int)strlen(s) + (int)w[0] + !p;
}
__attribute__((noinline)) static int cmp(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void sort(int *v, size_t n, compare c) {
    __asm__ volatile("" ::: "memory");
    qsort(v, n, sizeof *v, c);
}
__attribute__((noinline)) __int128 wide(__int128 a, int b) {
    __asm__ volatile("" ::: "memory");
    return a * b;
}
__attribute__((noinline)) int va(const char *fmt, int n, ...) {
    __asm__ volatile("" ::: "memory");
    return fmt[0] + n;
}
__attribute__((noinline)) int knr(a, f)
int a;
float f;
{
    __asm__ volatile("" ::: "memory");
    return a + (int)f;
}
__attribute__((noinline)) static int unused_param(int a, int b, int c) {
    __asm__ volatile("" ::: "memory");
    return a + c;
}
/* LLVM describes the last three by what the stack pointer is behind the prologue. */
__attribute__((noinline)) static long stacked(int a, int b, int c, int d, int e, int f, long g,
                                              char h, const char *i) {
    char room[100];
    __asm__ volatile("" : : "r"(room) : "memory");
    return snprintf(room, sizeof room, "%d%d%d%d%d%d%ld%d%s", a, b, c, d, e, f, g, h, i);
}
__attribute__((noinline)) int length(struct list *l) {
    int n = 0;
    for (; l; l = l->next)
        n++;
    return n;
}
int main(int argc, char **argv) {
    for (int i = 0; i < 3; i++)
        make(i);
    ints('a', -2, 3, -4, 200, ~0ul, -7, 8);
    floats(1.5f, 0.1, 3.25L, 1 + 2 * I);
    ld(1.1L);
    colors(BLUE, F_A | F_C, true);
    colors(GREEN, 8, false);
    struct small s = {5, "abcd"};
    struct bits b = {5, 300, -3, true};
    union num n = {.i = 77};
    smalls(s, b, n);
    struct big bg = {"some text", 5};
    bigs(bg, argc);
    struct item it = {3, 4.5, "it"};
    by_pointer(&it, "line\n\xff", L"w\x20ac", NULL);
    int v[] = {3, 1, 2};
    sort(v, 3, cmp);
    wide(-1, 3);
    va("x%d", 3, 4);
    knr(1, 2.5f);
    struct list l2 = {NULL, 2}, l1 = {&l2, 1};
    length(&l1);
    for (int i = 0; i < 2; i++)
        if (stacked(i, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, (char)(i + 8), argv[0]) == 9)
            return 9;
    return unused_param(argc, argc, argc) > 1000;
}

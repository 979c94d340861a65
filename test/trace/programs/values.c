/*
 * Values that live in registers across calls: vectors as arguments and results, in registers that
 * only -fipa-ra leaves alone, rounding modes and exceptions of both floating-point units, and
 * errno. The calls have no marks, because marks would clear the registers.
 */
#include <complex.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "expect.h"

enum { LAPS = 50, WORDS = 16 };

static volatile int zero;
static unsigned long calls_of_narrow, calls_of_wide;

static void print_words(const char *what, const void *data, size_t bytes) {
    unsigned words[WORDS];
    memcpy(words, data, bytes);
    printf("%s", what);
    for (size_t i = 0; i < bytes / 4; i++)
        printf(" %x", words[i]);
    printf("\n");
}

/* ---- vectors ---- */

typedef float floats128 __attribute__((vector_size(16)));
typedef int ints128 __attribute__((vector_size(16)));

static NOINLINE floats128 mix128(floats128 a, floats128 b, ints128 c) {
    return a * b + __builtin_convertvector(c, floats128);
}

static NOINLINE void vectors128(void) {
    floats128 a = {.1F, 3.F, -2.25F, 1.5F}, b = {7.F, -.125F, 4.F, .5F};
    for (int i = 0; i < LAPS; i++)
        a = mix128(b, a, (ints128){1, 3 + zero, -i, i});
    print_words("128", &a, sizeof a);
}

#ifdef __x86_64__
#define AVX __attribute__((target("avx2"), noinline))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl"), noinline))

AVX static __m256d mix256(__m256d a, __m256d b, __m256i c, __m128 d) {
    return _mm256_add_pd(_mm256_mul_pd(a, b), _mm256_add_pd(_mm256_cvtps_pd(d), (__m256d)c));
}

AVX512 static __m512d mix512(__m512d a, __m512d b, __mmask8 keep, __m256d c) {
    return _mm512_mask_add_pd(a, keep, b, _mm512_broadcast_f64x4(c));
}

/* Sixteen of the thirty-two registers hold arguments; the mask has a register of its own. */
AVX512 static __m512i sum512(__m512i a, __m512i b, __m512i c, __m512i d, __m512i e, __m512i f,
                             __m512i g, __m512i h) {
    __mmask16 less = _mm512_cmplt_epi32_mask(a, b);
    __m512i low = _mm512_add_epi32(_mm512_add_epi32(a, b), _mm512_add_epi32(c, d));
    __m512i high = _mm512_add_epi32(_mm512_add_epi32(e, f), _mm512_add_epi32(g, h));
    return _mm512_mask_sub_epi32(high, less, low, high);
}

AVX static void vectors256(void) {
    __m256d a = _mm256_set_pd(1.5, -2.25, 3., .1), b = _mm256_set_pd(.5, .25, -.125, .7);
    for (int i = 0; i < LAPS; i++)
        a = mix256(a, b, _mm256_set1_epi64x(i << 20), _mm_set1_ps((float)i + (float)zero));
    print_words("256", &a, sizeof a);
}

AVX512 static void vectors512(void) {
    __m512d a = _mm512_set_pd(1, 2, 3, 4, 5, 6, 7, 8), b = _mm512_set1_pd(.375);
    __m512i s = _mm512_set_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    for (int i = 0; i < LAPS; i++) {
        a = mix512(a, b, (__mmask8)(i * 37), _mm256_set_pd(i, 2, 3, zero));
        s = sum512(s, (__m512i)a, s, (__m512i)b, _mm512_set1_epi32(i), s, (__m512i)a, s);
    }
    print_words("512", &a, sizeof a);
    print_words("512", &s, sizeof s);
}

static void wider_vectors(void) {
    if (__builtin_cpu_supports("avx2"))
        vectors256();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        vectors512();
}
#else
static void wider_vectors(void) {}
#endif

/* ---- registers that a callee is known to leave alone (-fipa-ra) ---- */

/* Each function uses few registers. Its callers know which, and keep values in all others. */
static NOINLINE long narrow(long n) { return n * 3 + 1; }
static NOINLINE double wide(double x) { return x * .5 + 1; }
static NOINLINE double also_wide(double x) { return wide(x + 1); }

static NOINLINE long keep_integers(const long *v) {
    long a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    for (int i = 0; i < LAPS; i++) {
        a += narrow(b ^ h);
        b = (b << 1) + narrow(c - a);
        c ^= narrow(d) + e;
        d += f * g;
        e = narrow(e + h) - d;
        f ^= a + b;
        g += c ^ i;
        h -= f;
    }
    calls_of_narrow += 4ul * LAPS;
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

static NOINLINE double keep_reals(const double *v) {
    double a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    for (int i = 0; i < LAPS; i++) {
        a += wide(b) * 1e-3;
        b = b * .75 + also_wide(c) * .125;
        c -= d * .5 + e * 1e-2;
        d = wide(d - f * .25);
        e = e * .5 + g * .25 + h * 1e-2;
        f = f * -.5 + a * 1e-3;
        g = g * .875 + b * 1e-2;
        h = also_wide(h * .25 - i);
    }
    calls_of_wide += 4ul * LAPS;
    return a + b + c + d + e + f + g + h;
}

/* ---- floating-point environment ---- */

static NOINLINE double third(double x) { return x / 3 + zero; }
static NOINLINE long double long_third(long double x) { return x / 3 + zero; }
static NOINLINE complex long double turn(complex long double z) { return z * (1.25L + 2 * I) / 3; }

static sigjmp_buf trapped;

static void on_trap(int signal) {
    (void)signal;
    siglongjmp(trapped, 1);
}

static NOINLINE int traps(double x, volatile double y) {
    signal(SIGFPE, on_trap);
    if (sigsetjmp(trapped, 1) != 0)
        return 1;
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO);
    y = third(x) / y;
    fedisableexcept(FE_DIVBYZERO);
    return y > 1e300;
}

static void environment(void) {
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (int i = 0; i < 4; i++) {
        fesetround(modes[i]);
        feclearexcept(FE_ALL_EXCEPT);
        double x = third(1);
        long double y = long_third(1);
        complex long double z = turn(y + x * I);
        printf("%a %La %La %La %x %d\n", x, y, creall(z), cimagl(z), fetestexcept(FE_ALL_EXCEPT),
               fegetround() == modes[i]);
    }
    fesetround(FE_TONEAREST);
    printf("%d %d\n", traps(1, 0), traps(1, 2));
    feclearexcept(FE_ALL_EXCEPT);
}

/* ---- errno ---- */

static NOINLINE int leave_errno(int n) { return n + errno + zero; }

/* Each thread has an errno of its own, which calls must not change. */
static void *errors(void *argument) {
    int first = *(int *)argument, wrong = 0;
    for (int i = 0; i < LAPS; i++) {
        errno = first + i;
        wrong += leave_errno(i) != first + 2 * i;
        wrong += errno != first + i;
    }
    printf("%d\n", wrong);
    return NULL;
}

int main(void) {
    static const long integers[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    static const double reals[8] = {.3, .1, .4, .1, .5, .9, .2, .6};
    static int firsts[] = {100, 500};
    pthread_t thread;
    vectors128();
    wider_vectors();
    printf("%ld %a\n", keep_integers(integers), keep_reals(reals));
    environment();
    errors(&firsts[0]);
    pthread_create(&thread, NULL, errors, &firsts[1]);
    pthread_join(thread, NULL);
    printf("calls: narrow %lu\ncalls: wide %lu\n", calls_of_narrow, calls_of_wide);
    printf("calls: also_wide %lu\ncalls: leave_errno %d\n", calls_of_wide / 2, 2 * LAPS);
    return 0;
}

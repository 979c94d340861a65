/*
 * Calls with arguments and results of many kinds. For each call it prints what was passed, as
 * `spoor replay --json` shows it; null for what cannot be read: texts at the end of memory, behind
 * it, and in the first page.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

struct small {
    short a;
    signed char b;
};
struct pair {
    double x, y;
};
struct mixed {
    int id;
    double price;
};
struct named {
    const char *name;
    long long id;
};

enum { LAPS = 20, WORD = 6 /* bytes of texts that are recorded at once */ };
static volatile int sink;

KEPT long long passed_wide(int a, long long b, int c, double d, unsigned char e, long long f) {
    sink = c + e + (int)d;
    return a + b * 3 + f;
}
KEPT float passed_floats(float a, double b, float c, double d, float e) {
    sink = (int)(b + d);
    return a + c + e;
}
KEPT struct small passed_small(struct small s, struct mixed m, unsigned short n) {
    sink = m.id + (int)m.price;
    return (struct small){(short)(s.a + n), (signed char)-s.b};
}
KEPT struct pair passed_pair(struct pair p, int k, struct pair q) {
    return (struct pair){p.x + k, q.y};
}
KEPT const char *passed_named(struct named n, unsigned k) {
    sink = (int)n.id;
    return n.name + k;
}
KEPT int passed_text(const char *text) {
    sink = text != NULL;
    return sink;
}
KEPT double passed_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j,
                        double k) {
    sink = a + b + c + d + e + f + g + h + i;
    return j + k;
}

static void call(int i) {
    const struct small s = {(short)(-i), (signed char)i};
    const struct mixed m = {i * 1000, i * 0.25};
    const struct pair p = {i * 0.5, -i}, q = {i, i * 4096.0};
    const struct named n = {"a name", -5000000000LL * i};
    const long long wide =
        passed_wide(-i, 1LL << (i + 30), i, i * 1.5, (unsigned char)(200 + i), -i);
    printf("[\"passed_wide\", [%d, %lld, %d, %.17g, %d, %d], %lld]\n", -i, 1LL << (i + 30), i,
           i * 1.5, 200 + i, -i, wide);
    const float sum = passed_floats((float)i, i * 2.0, i * 0.5F, i * 0.125, -1);
    printf("[\"passed_floats\", [%d, %d, %.17g, %.17g, -1], %.17g]\n", i, 2 * i, i * 0.5, i * 0.125,
           (double)sum);
    const struct small t = passed_small(s, m, 60000);
    printf("[\"passed_small\", [{\"a\": %d, \"b\": %d}, {\"id\": %d, \"price\": %.17g}, 60000], "
           "{\"a\": %d, \"b\": %d}]\n",
           s.a, s.b, m.id, m.price, t.a, t.b);
    const struct pair r = passed_pair(p, i, q);
    printf("[\"passed_pair\", [{\"x\": %.17g, \"y\": %.17g}, %d, {\"x\": %.17g, \"y\": %.17g}], "
           "{\"x\": %.17g, \"y\": %.17g}]\n",
           p.x, p.y, i, q.x, q.y, r.x, r.y);
    const char *rest = passed_named(n, (unsigned)i % 6);
    printf("[\"passed_named\", [{\"name\": \"a name\", \"id\": %lld}, %d], \"%s\"]\n", n.id, i % 6,
           rest);
    const double last = passed_many(i, 1, 2, 3, 4, 5, 6, 7, 8, -i, 0.5);
    printf("[\"passed_many\", [%d, 1, 2, 3, 4, 5, 6, 7, 8, %d, 0.5], %.17g]\n", i, -i, last);
}

/* Texts of all lengths before memory that is not there; then without their ends. */
static void texts(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *end = memory + page;
    munmap(end, page);
    for (int i = 0; i < LAPS; i++) {
        memset(end - LAPS, 'a' + i, LAPS);
        end[-1] = 0;
        passed_text(end - 1 - i);
        printf("[\"passed_text\", [\"%s\"], 1]\n", end - 1 - i);
        if (i >= WORD - 1) /* what precedes a missing word is shown */
            continue;
        end[-1] = 'z';
        passed_text(end - 1 - i);
        printf("[\"passed_text\", [null], 1]\n");
    }
    passed_text(end);
    passed_text((const char *)16); /* NOLINT: no address */
    printf("[\"passed_text\", [null], 1]\n[\"passed_text\", [null], 1]\n");
}

int main(void) {
    for (int i = 0; i < LAPS; i++)
        call(i);
    texts();
    return 0;
}

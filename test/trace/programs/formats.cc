/* Passes containers, and prints what is in them: a line of JSON for each call. */
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

struct item {
    int id;
    std::string name;
};
struct plain {
    long x, y;
};

template <typename... T> static void print(const char *format, T... values) {
    std::printf(format, values...);
    std::puts("");
}

/* What is behind the end of a vector is stale, and no value. */
NOINLINE static void numbers(const std::vector<int> &v) {
    if (v.empty())
        print("{\"numbers\": {\"size\": 0, \"first\": null}}");
    else
        print("{\"numbers\": {\"size\": %zu, \"first\": %d}}", v.size(), v.front());
}
NOINLINE static void items(std::vector<item> v) {
    print("{\"items\": {\"size\": %zu, \"first\": {\"id\": %d, \"name\": \"%s\"}}}", v.size(),
          v.front().id, v.front().name.c_str());
}
NOINLINE static void maybe(std::optional<int> v) { /* in a register */
    if (v)
        print("{\"maybe\": {\"engaged\": true, \"value\": %d}}", *v);
    else
        print("{\"maybe\": {\"engaged\": false, \"value\": null}}");
}
NOINLINE static void maybe_plain(const std::optional<plain> &v) {
    if (v)
        print("{\"maybe_plain\": {\"engaged\": true, \"value\": {\"x\": %ld, \"y\": %ld}}}", v->x,
              v->y);
    else
        print("{\"maybe_plain\": {\"engaged\": false, \"value\": {\"x\": null, \"y\": null}}}");
}
struct closes {
    FILE *stays;
    void operator()(int *p) const { delete p; }
};
NOINLINE static void owned(std::unique_ptr<int> v) {
    print("{\"owned\": {\"pointer\": \"0x%lx\"}}", (unsigned long)v.get());
}
NOINLINE static void closed(std::unique_ptr<int, closes> v) { /* the pointer is not at its begin */
    print("{\"closed\": {\"pointer\": \"0x%lx\"}}", (unsigned long)v.get());
}
NOINLINE static void shared(const std::shared_ptr<plain> &v) {
    if (v)
        print("{\"shared\": {\"pointer\": \"0x%lx\", \"uses\": %ld}}", (unsigned long)v.get(),
              v.use_count());
    else
        print("{\"shared\": {\"pointer\": \"0x0\", \"uses\": null}}");
}
NOINLINE static void map(const std::map<int, item> &v) {
    print("{\"map\": {\"size\": %zu}}", v.size());
}
NOINLINE static void set(const std::unordered_set<long> &v) {
    print("{\"set\": {\"size\": %zu}}", v.size());
}
/* Members have formats, too, within members and within a base class. */
struct inner {
    char kind;
    std::vector<short> shorts;
};
struct base {
    std::optional<int> maybe;
};
struct outer : base {
    int id;
    inner within;
    std::string name;
    std::map<int, int> last;
};
NOINLINE static void held(const outer &v) {
    char maybe[16] = "null";
    if (v.maybe)
        std::snprintf(maybe, sizeof maybe, "%d", *v.maybe);
    print("{\"held\": {\"base\": {\"maybe\": {\"engaged\": %s, \"value\": %s}}, \"id\": %d, "
          "\"within\": {\"kind\": \"%c\", \"shorts\": {\"size\": %zu, \"first\": %d}}, "
          "\"name\": \"%s\", \"last\": {\"size\": %zu}}}",
          v.maybe ? "true" : "false", maybe, v.id, v.within.kind, v.within.shorts.size(),
          v.within.shorts.front(), v.name.c_str(), v.last.size());
}
/* More than a stub has room for. */
struct many {
    std::vector<short> shorts;
    std::map<int, int> map;
    std::vector<long> longs;
};
NOINLINE static int crowded(const many &a, const many &b, const many &c, const many &d,
                            const many &e, int n) {
    asm volatile("" : : "m"(a), "m"(b), "m"(c), "m"(d), "m"(e));
    return n;
}
/* Beside the texts there is no room for all that the members hold. */
struct listed {
    std::vector<std::string> a, b, c, d;
};
NOINLINE static int named(const listed &l, const std::string &a, const std::string &b,
                          const std::string &c, const std::string &d) {
    asm volatile("" : : "m"(l), "m"(a), "m"(b), "m"(c));
    return d.size();
}
/* The test's format asks for more texts of it than a stub has room for. */
struct texts {
    std::string a, b, c, d, e, f, g, h, i, j, k, l;
};
NOINLINE static int wide(const texts &v, int n) {
    asm volatile("" : : "m"(v));
    return n;
}
NOINLINE static std::vector<short> made(int n) {
    std::vector<short> v(n, (short)-n);
    print("{\"made\": {\"size\": %zu, \"first\": %d}}", v.size(), v.front());
    return v;
}

int main() {
    std::vector<int> v{7, 8, 9};
    numbers(v);
    v.clear();
    numbers(v);
    numbers({});
    items({{1, "one"}, {2, "two"}});
    maybe(5);
    maybe(std::nullopt);
    maybe_plain(plain{-4, 6});
    maybe_plain(std::nullopt);
    owned(std::make_unique<int>(3));
    owned(nullptr);
    closed(std::unique_ptr<int, closes>(new int(4), closes{stdout}));
    auto one = std::make_shared<plain>(), two = one;
    shared(one);
    shared(nullptr);
    map({{1, {3, "three"}}});
    set({1, 2, 3});
    outer two_of_them[2] = {{{5}, 1, {'k', {6, 7}}, "whole", {{1, 2}}},
                            {{}, -1, {'l', {8}}, "", {}}};
    held(two_of_them[0]);
    held(two_of_them[1]);
    const many m{{6, 7}, {}, {8}};
    crowded(m, m, m, m, m, 77);
    named({{"x"}, {}, {}, {}}, "a", "b", "c", "d");
    wide({"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"}, 78);
    return made(4).size() == 4 ? 0 : 1;
}

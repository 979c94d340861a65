/* Functions with arguments and results of each kind, called with known values. */
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
#define OUT __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
namespace shop {
enum class Kind : unsigned char { Small, Large = 9 };
struct Point {
    int x, y;
};
struct Rect {
    Point a, b;
};
struct Wide {
    double d;
    int i;
    char c;
};
struct Base {
    int base;
    virtual ~Base() {}
    virtual int area(int scale) const {
        KEEP;
        return base * scale;
    }
};
struct Derived : Base {
    double extra = 2.5;
    std::string name = "derived";
    int area(int scale) const override {
        KEEP;
        return base + scale;
    }
};
class Order {
  public:
    Order(int id, std::string name) : id(id), name(std::move(name)) { KEEP; }
    OUT int total(int n, const Point &p) const {
        KEEP;
        __asm__ volatile("" : : "r"(&p) : "memory");
        return id * n + p.x;
    }
    OUT std::string label(std::string_view prefix) {
        KEEP;
        return std::string(prefix) + name;
    }
    static OUT Order create(int id) {
        KEEP;
        return Order(id, "created");
    }

  private:
    int id;
    std::string name;
};
OUT Point add(Point a, Point b) {
    KEEP;
    return {a.x + b.x, a.y + b.y};
}
OUT Rect rect(Rect r, Kind k) {
    KEEP;
    return {r.b, r.a};
}
OUT Wide wide(Wide w, float f) {
    KEEP;
    w.d += f;
    return w;
}
OUT int text(const std::string &s, std::string t, std::string_view v) {
    KEEP;
    return (int)(s.size() + t.size() + v.size());
}
OUT int refs(int &a, const double &b, Point &&c) {
    KEEP;
    a++;
    return a + (int)b + c.x;
}
OUT size_t vec(const std::vector<int> &v, std::vector<int> w) {
    KEEP;
    return v.size() + w.size();
}
OUT int owner(std::unique_ptr<Point> p, std::shared_ptr<int> q) {
    KEEP;
    return p->x + *q;
}
OUT std::unique_ptr<Point> give(int x) {
    KEEP;
    return std::make_unique<Point>(Point{x, 2});
}
OUT std::optional<int> maybe(std::optional<int> a, bool b) {
    KEEP;
    return b ? a : std::nullopt;
}
OUT std::pair<int, double> pair(std::pair<int, double> p) {
    KEEP;
    p.first++;
    return p;
}
OUT int member(int Point::*m, int (Base::*f)(int) const, const Base *b) {
    KEEP;
    Point p{1, 2};
    return p.*m + (b->*f)(2);
}
OUT std::array<int, 3> arr(std::array<int, 3> a, std::nullptr_t) {
    KEEP;
    a[0]++;
    return a;
}
struct Empty {};
OUT int empty(Empty e, int a, Empty f) {
    KEEP;
    return a;
}
template <typename T> OUT T twice(T t) {
    KEEP;
    return t + t;
}
OUT char16_t wide_char(char16_t a, char32_t b, wchar_t c, signed char d) {
    KEEP;
    return a;
}
OUT const char *thrower(int n) {
    KEEP;
    if (n > 1)
        throw std::string("out");
    return "in";
}
struct Bits {
    unsigned a : 4;
    Kind k : 4;
    long b : 40;
};
OUT Bits bits(Bits b) {
    KEEP;
    b.a++;
    return b;
}
union Number {
    int i;
    double d;
};
OUT Number number(Number n) {
    KEEP;
    return n;
}
OUT long many(int a, double b, int c, double d, int e, double f, int g, double h, int i, double j,
              int k, double l, int m, double n, int o, double p, float q, double r, long s) {
    KEEP;
    return a + c + e + g + i + k + m + o + s + (long)(b + d + f + h + j + l + n + p + q + r);
}
namespace {
OUT int hidden(int a, const std::string &s) {
    KEEP;
    return a + (int)s.size();
}
} // namespace
} // namespace shop
using namespace shop;
int main() {
    std::string small = "small", large(100, 'x');
    printf("%d\n", add({1, 2}, {3, 4}).x);
    rect({{1, 2}, {3, 4}}, Kind::Large);
    wide({1.5, 2, 'c'}, 2.5f);
    text(small, large, "view");
    int i = 5;
    refs(i, 2.5, {7, 8});
    vec({1, 2, 3}, {4, 5});
    owner(give(3), std::make_shared<int>(4));
    maybe(5, true);
    maybe(5, false);
    pair({1, 2.5});
    Derived d;
    d.base = 6;
    member(&Point::y, &Base::area, &d);
    arr({1, 2, 3}, nullptr);
    empty({}, 9, {});
    twice(3);
    twice(2.5);
    twice(std::string("ab"));
    wide_char(u'x', U'\U0001f600', L'w', -3);
    try {
        thrower(1);
        thrower(2);
    } catch (const std::string &) {
    }
    Bits bb;
    bb.a = 3;
    bb.k = Kind::Large;
    bb.b = -5;
    bits(bb);
    number({.i = 3});
    many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
    Order o = Order::create(3);
    Point pp{4, 5};
    o.total(2, pp);
    o.label("pre");
    hidden(3, small);
    return 0;
}

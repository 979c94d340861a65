/*
 * Virtual calls: through one base, through the second of two (a thunk adjusts the pointer), through
 * a virtual base. Also pointers to members, pure virtual functions, and destructors.
 */
#include <cstdio>
#include <memory>
#include <vector>

#include "expect.hpp"

static volatile int zero;

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
    virtual int corners() const { return 0; }
};

struct Named {
    virtual ~Named() = default;
    virtual int name_length() const = 0;
};

struct Square final : Shape, Named {
    explicit Square(int s) : side(s) {}
    NOINLINE int area() const override;
    NOINLINE int corners() const override;
    NOINLINE int name_length() const override;
    int side;
};

struct Circle final : Shape {
    explicit Circle(int r) : radius(r) {}
    NOINLINE int area() const override;
    int radius;
};

int Square::area() const {
    Traced traced("Square::area() const");
    return side * side + zero;
}
int Square::corners() const {
    Traced traced("Square::corners() const");
    return 4 + zero;
}
int Square::name_length() const {
    Traced traced("Square::name_length() const");
    return side + 6;
}
int Circle::area() const {
    Traced traced("Circle::area() const");
    return 3 * radius * radius + zero;
}

struct Top {
    virtual ~Top() = default;
    virtual int value() { return 1; }
    int weight = 5;
};
struct Left : virtual Top {
    int left = 1;
};
struct Right : virtual Top {
    int right = 2;
};
struct Bottom final : Left, Right {
    NOINLINE int value() override;
};
int Bottom::value() {
    Traced traced("Bottom::value()");
    return left + right + weight;
}

static NOINLINE int total_area(const std::vector<std::unique_ptr<Shape>> &shapes) {
    Traced traced("total_area(std::vector<std::unique_ptr<Shape, std::default_delete<Shape> >, "
                  "std::allocator<std::unique_ptr<Shape, std::default_delete<Shape> > > > const&)");
    int sum = 0;
    for (auto &shape : shapes)
        sum += shape->area() + shape->corners();
    return sum;
}

/* The compiler must not know the type behind the reference. */
static NOINLINE int length(const Named &named) {
    Traced traced("length(Named const&)");
    expect_all("> non-virtual thunk to Square::name_length() const",
               "< non-virtual thunk to Square::name_length() const", nullptr);
    return named.name_length();
}

static NOINLINE int through_member(const Shape &shape, int (Shape::*member)() const) {
    Traced traced("through_member(Shape const&, int (Shape::*)() const)");
    return (shape.*member)();
}

static NOINLINE int top_value(Top &top) {
    Traced traced("top_value(Top&)");
    expect_all("> virtual thunk to Bottom::value()", "< virtual thunk to Bottom::value()", nullptr);
    return top.value();
}

struct Doubler {
    NOINLINE int operator()(int n) const {
        Traced traced("Doubler::operator()(int) const");
        return n * 2 + zero;
    }
};

template <typename T> constexpr const char *thrice_name = "int thrice<int>(int)";
template <> constexpr const char *thrice_name<double> = "double thrice<double>(double)";

template <typename T> static NOINLINE T thrice(T n) {
    Traced traced(thrice_name<T>);
    return n * 3 + zero;
}

int main() {
    {
        Traced traced("main");
        std::vector<std::unique_ptr<Shape>> shapes;
        for (int i = 1; i < 5; i++) {
            shapes.push_back(std::make_unique<Square>(i));
            shapes.push_back(std::make_unique<Circle>(i));
        }
        std::printf("%d\n", total_area(shapes));
        Square square(9);
        std::printf("%d\n", length(square));
        std::printf("%d\n", through_member(square, &Shape::corners));
        Bottom bottom;
        std::printf("%d\n", top_value(bottom));
        std::printf("%d %d\n", Doubler()(4), Doubler()(5));
        std::printf("%d %g\n", thrice(3), thrice(0.5));
    }
    expect_print();
    return 0;
}

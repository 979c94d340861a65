/* Names of several hundred characters: templates of the standard library, some with equal short names. */
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

template <int N> struct first_of_two_types_with_a_long_name {
    int value = N;
};
template <int N> struct other_of_two_types_with_a_long_name {
    int value = -N;
};

template <class T, class U> struct pair_of_types {
    __attribute__((noinline)) int sum(const std::map<std::string, std::vector<T>> &, U &u) {
        return T().value + u.value;
    }
};

static bool user_less(int a, int b) { return a < b; }
static void user_visit(int) {}

template <class T, class U> static int sum_of() {
    pair_of_types<std::shared_ptr<T>, U> *none = nullptr;
    (void)none;
    U u;
    return pair_of_types<T, U>().sum({}, u);
}

int main() {
    std::vector<int> numbers;
    std::map<std::string, int> by_name;
    for (int i = 0; i < 50; i++) {
        numbers.push_back(i * 37 % 101);
        by_name["k" + std::to_string(i)] = i;
    }
    std::sort(numbers.begin(), numbers.end(), user_less);
    std::for_each(numbers.begin(), numbers.end(), user_visit);
    std::function<void(int)> visit = user_visit;
    for (auto &entry : by_name)
        visit(entry.second);
    using first = first_of_two_types_with_a_long_name<1>;
    using other = other_of_two_types_with_a_long_name<2>;
    std::printf("%d %zu %d %d %d\n", numbers[3], by_name.size(), sum_of<first, first>(),
                sum_of<first, other>(), sum_of<other, first>());
}

/*
 * A C++ program that uses much of its library: streams, containers, regular expressions, futures,
 * locales. It throws exceptions through all of them, also in threads.
 */
#include <algorithm>
#include <any>
#include <exception>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace {

struct Tracked {
    explicit Tracked(int &n) : alive(n) { ++alive; }
    Tracked(const Tracked &other) : alive(other.alive) { ++alive; }
    ~Tracked() { --alive; }
    int &alive;
};

[[gnu::noinline]] int parse(const std::string &text) {
    std::size_t used = 0;
    int value = std::stoi(text, &used); /* throws from inside the library */
    if (used != text.size())
        throw std::invalid_argument("rest: " + text.substr(used));
    return value;
}

[[gnu::noinline]] int sum_of(const std::vector<std::string> &texts, int &alive) {
    Tracked tracked(alive);
    return std::accumulate(texts.begin(), texts.end(), 0, [&](int sum, const std::string &text) {
        Tracked inner(tracked);
        return sum + parse(text);
    });
}

/* An exception out of the library's sort, through the comparison that it calls. */
[[gnu::noinline]] int sort_or_throw(int limit) {
    std::vector<int> numbers(64);
    std::iota(numbers.rbegin(), numbers.rend(), 0);
    int comparisons = 0;
    std::sort(numbers.begin(), numbers.end(), [&](int a, int b) {
        if (++comparisons == limit)
            throw std::range_error("compared " + std::to_string(limit) + " times");
        return a < b;
    });
    return numbers.front();
}

[[gnu::noinline]] void nest(int depth) {
    try {
        if (depth == 0)
            throw std::logic_error("innermost");
        nest(depth - 1);
    } catch (...) {
        std::throw_with_nested(std::runtime_error("level " + std::to_string(depth)));
    }
}

void unfold(const std::exception &e, std::ostream &out) {
    out << e.what() << ';';
    try {
        std::rethrow_if_nested(e);
    } catch (const std::exception &inner) {
        unfold(inner, out);
    }
}

template <typename F> std::string outcome(F f) {
    std::ostringstream out;
    try {
        out << f();
    } catch (const std::out_of_range &e) {
        out << "out of range: " << e.what();
    } catch (const std::exception &e) {
        unfold(e, out);
    } catch (int n) {
        out << "int " << n;
    }
    return out.str();
}

std::string everything(int seed) {
    std::ostringstream out;
    int alive = 0;
    for (const char *text : {"12", "x", "12x", "99999999999", ""})
        out << outcome([&] { return sum_of({"1", "2", text, "4"}, alive); }) << '\n';
    out << "alive " << alive << '\n';
    for (int limit : {1, 100, 100000})
        out << outcome([&] { return sort_or_throw(limit); }) << '\n';
    out << outcome([&] {
        nest(5);
        return 0;
    }) << '\n';
    out << outcome([&] { return std::any_cast<int>(std::any(std::string("text"))); }) << '\n';
    out << outcome([&] { return std::get<int>(std::variant<int, double>(2.5)); }) << '\n';
    out << outcome([&] { return std::regex_match("a", std::regex("(unclosed")); }) << '\n';
    out << outcome([&] { return std::map<int, int>().at(seed); }) << '\n';
    out << outcome([&]() -> int { throw seed; }) << '\n';
    std::stringstream stream("17 no");
    stream.exceptions(std::ios::failbit);
    int number = 0;
    out << outcome([&] {
               stream >> number >> number;
               return number;
           }).substr(0, 20)
        << number << '\n';
    std::string words = "one two three four";
    std::regex word("(\\w)(\\w*)");
    out << std::regex_replace(words, word, "$2$1") << std::setprecision(12) << seed / 7.0 << '\n';
    return out.str();
}

} // namespace

int main() {
    std::cout << everything(1);
    std::vector<std::future<std::string>> futures;
    for (int i = 2; i < 8; i++)
        futures.push_back(std::async(std::launch::async, everything, i));
    for (auto &future : futures)
        std::cout << std::hash<std::string>()(future.get()) % 1000003 << '\n';
    auto failing =
        std::async(std::launch::async, []() -> int { throw std::domain_error("thread"); });
    std::cout << outcome([&] { return failing.get(); }) << '\n';
    std::exception_ptr kept;
    std::thread([&] {
        try {
            nest(3);
        } catch (...) {
            kept = std::current_exception();
        }
    }).join();
    std::cout << outcome([&]() -> int { std::rethrow_exception(kept); }) << std::endl;
    std::set_terminate([] {
        std::cout << "terminate" << std::endl;
        std::_Exit(9);
    });
    throw std::bad_function_call();
}

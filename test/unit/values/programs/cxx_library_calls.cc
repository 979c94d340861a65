// Calls of the C++ library's own functions: streams, locales, texts, exceptions, files, numbers, threads.
#include <charconv>
#include <chrono>
#include <codecvt>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory_resource>
#include <new>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <unordered_map>

struct Shape {
    virtual ~Shape() = default;
};
struct Square : virtual Shape {
    double side = 2;
};
struct Round : Square {
    float radius = 1.5f;
};

static void streams(int i) {
    std::ostringstream out;
    out << i << ' ' << 1.5 * i << ' ' << "text" << std::setw(8) << std::setfill('*') << std::hex << 255 + i << std::boolalpha
        << true << ' ' << static_cast<void *>(nullptr) << ' ' << 1e100L << 'c' << -7L << 18446744073709551615ULL << '\n';
    out << std::scientific << std::setprecision(3) << 12345.678f << std::endl;
    std::istringstream in("17 -4 2.5 word 0x1f true\nnext line\n");
    int a;
    long b;
    double c;
    std::string word, line;
    bool yes;
    in >> a >> b >> c >> word >> std::hex >> a >> std::boolalpha >> yes;
    std::getline(in, line);
    std::getline(in, line);
    in.clear();
    in.seekg(3);
    in.get();
    in.peek();
    in.unget();
    in.ignore(5, ' ');
    std::stringstream both(out.str());
    both.seekp(0, std::ios::end);
    both.write("more", 4).put('!');
    char room[16];
    both.read(room, 7);
    std::wostringstream wide;
    wide << L"wide " << i << L' ' << 2.5;
}

static void texts(int i) {
    std::string s("some text"), t(12 + i, 'x');
    s.append(t).insert(4, " more").replace(0, 4, "any").erase(2, 3);
    s += "end";
    s.resize(40, '-');
    s.reserve(100);
    s.shrink_to_fit();
    t.assign("abc", 2).push_back('d');
    (void)(s.find("more") + s.rfind('x') + s.find_first_of("xyz") + s.compare(t) + s.compare(1, 2, "ab"));
    (void)(s.substr(2, 5) + t + std::to_string(i));
    s.swap(t);
    std::wstring w(L"wide");
    w.append(3, L'!').insert(0, L"very ");
    std::u16string u(u"sixteen");
    std::stoi("42");
    std::stod("2.5");
    char room[32];
    std::to_chars(room, room + 32, 3.25 * i);
    double d;
    std::from_chars("6.5e3", "6.5e3" + 5, d);
}

static void errors(int i) {
    try {
        switch (i % 5) {
        case 0: throw std::runtime_error("runtime");
        case 1: throw std::out_of_range(std::string("range"));
        case 2: throw std::system_error(2, std::generic_category(), "system");
        case 3: std::stoi("no number"); break;
        default: (void)std::string("abc").at(7);
        }
    } catch (const std::exception &e) {
        (void)e.what();
        std::exception_ptr p = std::current_exception();
        try {
            std::rethrow_exception(p);
        } catch (...) {
        }
    }
    std::error_code code(13, std::system_category());
    (void)(code.message() + std::generic_category().message(2));
    (void)std::uncaught_exceptions();
}

static void types(int i) {
    Round round;
    Shape *shape = i % 2 ? static_cast<Shape *>(&round) : new Square;
    (void)dynamic_cast<Round *>(shape);
    (void)dynamic_cast<Square *>(shape);
    (void)(typeid(*shape) == typeid(Round));
    try {
        (void)dynamic_cast<Round &>(*shape);
    } catch (const std::bad_cast &e) {
        (void)e.what();
    }
    if (i % 2 == 0)
        delete shape;
    delete[] new int[5 + i];
    operator delete(operator new(64, std::align_val_t(64)), std::align_val_t(64));
    (void)new (std::nothrow) char;
}

static void containers(int i) {
    std::map<int, std::string> map{{1, "one"}, {i, "i"}, {3, "three"}};
    map.erase(1);
    for (auto at = map.begin(); at != map.end(); ++at)
        (void)at->second.size();
    std::list<int> list{3, 1, 2};
    list.sort();
    list.reverse();
    std::unordered_map<int, int> hash;
    for (int k = 0; k < 20; k++)
        hash[k] = k;
    std::set<double> set{2.5, 1.5};
    set.insert(i);
    std::pmr::monotonic_buffer_resource pool(256);
    std::pmr::string s("in a pool, and too long for the small room", &pool);
}

static void files(int i) {
    namespace fs = std::filesystem;
    fs::path path = fs::temp_directory_path() / ("spoor-values-" + std::to_string(i)) / "a.txt";
    fs::create_directories(path.parent_path());
    {
        std::ofstream out(path);
        out << "line " << i << "\nsecond\n";
    }
    std::ifstream in(path, std::ios::binary);
    std::string line;
    while (std::getline(in, line))
        ;
    (void)(fs::file_size(path) + fs::exists(path) + fs::is_directory(path.parent_path()));
    (void)(path.extension().string() + path.stem().string() + path.lexically_normal().string());
    for (const auto &entry : fs::directory_iterator(path.parent_path()))
        (void)entry.is_regular_file();
    std::error_code code;
    fs::rename(path, path.parent_path() / "b.txt", code);
    fs::remove_all(path.parent_path());
}

static void locales(int i) {
    std::locale classic = std::locale::classic(), copy(classic);
    (void)(copy == classic);
    (void)copy.name();
    std::toupper('a', copy);
    std::use_facet<std::numpunct<char>>(copy).grouping();
    std::use_facet<std::collate<char>>(copy).compare("a", "a" + 1, "b", "b" + 1);
    std::ostringstream out;
    out.imbue(copy);
    std::tm tm{};
    tm.tm_year = 100 + i;
    out << std::put_time(&tm, "%Y-%m-%d") << std::put_money(1234.5L);
    std::istringstream in("2024-05-06");
    in >> std::get_time(&tm, "%Y-%m-%d");
}

static void waits(int i) {
    std::mutex mutex;
    std::condition_variable ready;
    std::unique_lock<std::mutex> lock(mutex);
    ready.wait_for(lock, std::chrono::microseconds(i));
    ready.notify_all();
    (void)(std::chrono::system_clock::now() > std::chrono::system_clock::time_point());
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    promise.set_value(i);
    future.get();
}

int main() {
    for (int i = 0; i < 5; i++) {
        streams(i);
        texts(i);
        errors(i);
        types(i);
        containers(i);
        files(i);
        locales(i);
        waits(i);
    }
}

/* The digest of a file tells every change, on any number of processors, and keeps no pages. */
#include <stdio.h>

#include "base/workers.h"
#include "elf/files.h"
#include "support.h"

#define TESTS                                                                                      \
    TEST(every_change_is_seen)                                                                     \
    TEST(threads_do_not_matter)                                                                    \
    TEST(digested_pages_leave)

enum { MB = 1 << 20, SIZE = 5 * MB + 77 };

struct file { /* a program with bytes behind it that no header mentions */
    uint8_t *bytes;
    size_t size;
};

static struct file file_new(void) {
    struct file f = {.size = SIZE};
    size_t size;
    AUTO_FREE uint8_t *program = fixture_read("shapes-pie", &size);
    assert_in_range(size, 1, SIZE);
    f.bytes = mem_alloc(SIZE);
    memcpy(f.bytes, program, size);
    return f;
}

static void digest_of(const struct file *f, uint8_t ret[DIGEST_BYTES]) {
    struct module *module;
    struct digest d;
    assert_int_equal(load_bytes(f->bytes, f->size, &module, NULL), 0);
    digest_init(&d);
    module_file_digest(module, MODULE_FILE, &d);
    digest_finish(&d, ret);
    module_free(module);
}

static void every_change_is_seen(void **state) {
    (void)state;
    static const size_t changed[] = {4 * MB - 1, 4 * MB, 4 * MB + 128, SIZE - 1};
    struct file f = file_new();
    uint8_t first[DIGEST_BYTES], other[DIGEST_BYTES];
    digest_of(&f, first);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        f.bytes[changed[i]] ^= 1;
        digest_of(&f, other);
        assert_memory_not_equal(first, other, DIGEST_BYTES);
        f.bytes[changed[i]] ^= 1;
    }
    f.size--;
    digest_of(&f, other);
    assert_memory_not_equal(first, other, DIGEST_BYTES);
    f.size++;
    digest_of(&f, other);
    assert_memory_equal(first, other, DIGEST_BYTES);
    free(f.bytes);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    struct file f = file_new();
    uint8_t first[DIGEST_BYTES], other[DIGEST_BYTES];
    digest_of(&f, first);
    for (size_t threads = 1; threads <= 4; threads++) {
        workers_limit(threads);
        digest_of(&f, other);
        assert_memory_equal(first, other, DIGEST_BYTES);
    }
    workers_limit(0);
    free(f.bytes);
}

/* The pages of PATH that this process has. */
static long resident_kb(const char *path) {
    char line[512];
    bool inside = false;
    long sum = 0, kb;
    FILE *maps = fopen("/proc/self/smaps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            inside = strstr(line, path);
        if (inside && sscanf(line, "Rss: %ld", &kb) == 1)
            sum += kb;
    }
    fclose(maps);
    return sum;
}

static void digested_pages_leave(void **state) {
    (void)state;
    struct file f = file_new();
    struct module *module;
    struct digest d;
    uint8_t ignored[DIGEST_BYTES];
    char path[] = "/tmp/spoor-digest-XXXXXX";
    AUTO_FD int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, f.bytes, f.size), f.size);
    assert_int_equal(module_load(path, MODULE_LATER, &module, NULL), 0);
    digest_init(&d);
    module_file_digest(module, MODULE_FILE, &d);
    digest_finish(&d, ignored);
    assert_in_range(resident_kb(path), 0, MB / 1024);
    module_complete(module);
    assert_in_range(resident_kb(path), 0, MB / 1024);
    assert_non_null(symbol(module, "main"));
    module_free(module);
    unlink(path);
    free(f.bytes);
}

int main(void) {
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("file digests", tests, NULL, NULL);
}

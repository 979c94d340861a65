/*
 * Files that processes have mapped: opened wherever they are, or read from memory where nobody can
 * open them.
 */
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../target/child.h"
#include "patch/program.h"
#include "select/mapped.h"

#define TESTS                                                                                      \
    TEST(file_found_while_its_name_holds)                                                          \
    TEST(file_without_a_name_found_by_root)                                                        \
    TEST(loaded_image_equals_the_file)                                                             \
    TEST(image_without_headers_refused)

enum { NOBODY = 65534, PAGE = 4096, SIZE = 3 * PAGE };

/* ---- from files ---- */

static struct shared {
    uint32_t ready;
    char mapped[PAGE], other[PAGE]; /* file names */
} * shared;

static void fill(int fd, char letter) {
    char page[PAGE];
    for (int i = 0; i < SIZE / PAGE; i++) {
        memset(page, letter + i, sizeof page);
        assert_int_equal(write(fd, page, sizeof page), sizeof page);
    }
}

static void make_file(const char *path, char letter) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    fill(fd, letter);
    close(fd);
}

/* Maps all of a file but its first page; keeps the file open if *ARG is true. */
static int map_file(void *arg) {
    int fd = open(shared->mapped, O_RDONLY | O_CLOEXEC);
    if (mmap(NULL, SIZE - PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE) == MAP_FAILED)
        return 1;
    if (!*(bool *)arg)
        close(fd);
    __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    for (;;)
        pause();
}

enum become { STAYS, REMOVED, REPLACED, REWRITTEN, COPIED };

struct trial {
    bool open; /* the process has a descriptor */
    enum become become;
};

static void change_file(enum become become) {
    if (become == REMOVED || become == REWRITTEN)
        unlink(shared->mapped);
    if (become == REWRITTEN)
        make_file(shared->mapped, 'x');
    if (become == REPLACED || become == COPIED) {
        make_file(shared->other, become == COPIED ? 'a' : 'x');
        rename(shared->other, shared->mapped);
    }
}

/* 1: the mapped file was opened, 2: no file was, 3: another file was. */
static int try_open(struct trial *t) {
    struct maps maps;
    struct stat st;
    char byte = 0;
    shared->ready = 0;
    make_file(shared->mapped, 'a');
    pid_t pid = child_start(map_file, &t->open);
    await_word(&shared->ready);
    change_file(t->become);
    assert_int_equal(maps_read(pid, &maps, NULL), 0);
    maps_use_former_names(&maps);
    const struct map *map = NULL;
    for (size_t i = 0; i < maps.list.count; i++)
        if (strstr(shared->mapped, maps.list.at[i].path) == shared->mapped &&
            maps.list.at[i].path[0] == '/')
            map = &maps.list.at[i];
    assert_non_null(map);
    AUTO_FD int fd = mapped_open(pid, map, &st);
    bool right = fd >= 0 && pread(fd, &byte, 1, PAGE) == 1 && byte == 'b';
    maps_done(&maps);
    child_kill(pid);
    return fd < 0 ? 2 : right ? 1 : 3;
}

static int try_as_nobody(void *arg) {
    if (getuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
        return 4;
    prctl(PR_SET_DUMPABLE, 1); /* setuid() has cleared it */
    return try_open(arg);
}

static void with_names(const char *name, void (*test)(void)) {
    char folder[] = "/tmp/spoor-mapped-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0777), 0);
    snprintf(shared->mapped, sizeof shared->mapped, "%s/%s", folder, name);
    snprintf(shared->other, sizeof shared->other, "%s/other", folder);
    test();
    unlink(shared->mapped);
    rmdir(folder);
}

static void expect(bool open, enum become become, int outcome) {
    struct trial trial = {open, become};
    assert_int_equal(child_end(child_start(try_as_nobody, &trial)), outcome);
    unlink(shared->mapped);
}

static void try_all(void) {
    expect(false, STAYS, 1);
    expect(false, COPIED, 1); /* the contents decide where inodes cannot */
    expect(false, REMOVED, 2);
    expect(false, REPLACED, 2);
    expect(false, REWRITTEN, 2);
    expect(true, REMOVED, 1);
    expect(true, REPLACED, 1);
}

static void file_found_while_its_name_holds(void **state) {
    (void)state;
    with_names("file", try_all);
    with_names("odd (deleted)", try_all);
}

static bool sees_map_files(void) {
    struct map map;
    struct maps maps;
    assert_int_equal(maps_read(getpid(), &maps, NULL), 0);
    map = maps.list.at[0];
    AUTO_FREE char *path = mem_printf("/proc/self/map_files/%lx-%lx", map.start, map.end);
    maps_done(&maps);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

static void try_all_as_root(void) {
    for (int become = STAYS; become <= COPIED; become++) {
        struct trial trial = {false, (enum become)become};
        assert_int_equal(try_open(&trial), 1);
        unlink(shared->mapped);
    }
}

static void file_without_a_name_found_by_root(void **state) {
    (void)state;
    if (!sees_map_files())
        skip();
    with_names("file", try_all_as_root);
}

/* ---- from memory ---- */

static int run_fixture(void *arg) {
    AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, (char *)arg);
    int out = open("/dev/null", O_WRONLY);
    dup2(out, 1);
    await_word(&shared->ready);
    execl(path, path, NULL);
    return 99;
}

static int next_stop(pid_t pid) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_true(WIFSTOPPED(status));
    return status;
}

/* Starts a program and stops it at its exit, when all of it has been relocated. */
static pid_t run_to_end(const char *name) {
    shared->ready = 0;
    pid_t pid = child_start(run_fixture, (void *)name);
    child_seize(pid);
    assert_int_equal(thread_watch_exit(pid, true), 0);
    __atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
    thread_continue(pid, 0);
    for (;;) {
        int status = next_stop(pid), event = status >> 16;
        if (event == PTRACE_EVENT_EXIT)
            return pid;
        thread_continue(pid, event ? 0 : WSTOPSIG(status));
    }
}

static bool is_stub(const struct module *m, vaddr_t addr) {
    const struct section *s = module_section_at(m, addr);
    return s && s->plt;
}

/* Slots of a program at a fixed address point to stubs until they are filled. */
static void compare_refs(const struct module *file, const struct module *memory) {
    size_t at = 0;
    for (size_t i = 0; i < file->ref_count; i++) {
        const struct code_ref *r = &file->refs[i];
        while (at < memory->ref_count && memory->refs[at].target < r->target)
            at++;
        bool found = false;
        for (size_t j = at; j < memory->ref_count && memory->refs[j].target == r->target; j++)
            found |= memory->refs[j].from == r->from;
        if (!found && !is_stub(file, r->target))
            fail_msg("%s: no reference from %lx to %lx", file->name, r->from, r->target);
    }
    if (file->position_independent)
        assert_int_equal(file->ref_count, memory->ref_count);
}

/* Equal except for the section fields in the file's header. */
static void compare_segment(const struct segment *file, const struct segment *memory) {
    size_t skip = file->offset ? 0 : sizeof(Elf64_Ehdr);
    if (!file->writable)
        assert_memory_equal(file->bytes + skip, memory->bytes + skip, file->file_size - skip);
}

static void compare(const struct module *file, const struct module *memory) {
    assert_int_equal(file->build_id_size, memory->build_id_size);
    assert_memory_equal(file->build_id, memory->build_id, file->build_id_size);
    assert_int_equal(file->segment_count, memory->segment_count);
    for (size_t i = 0; i < file->segment_count; i++)
        compare_segment(&file->segments[i], &memory->segments[i]);
    assert_int_equal(file->range_count, memory->range_count);
    for (size_t i = 0; i < file->range_count; i++)
        assert_int_equal(file->ranges[i].start, memory->ranges[i].start);
    assert_int_equal(file->import_count, memory->import_count);
    for (size_t i = 0; i < file->import_count; i++) {
        assert_int_equal(file->imports[i].slot, memory->imports[i].slot);
        assert_string_equal(file->imports[i].name, memory->imports[i].name);
    }
    for (size_t i = 0; i < memory->symbol_count; i++)
        if (!module_symbol_named(file, memory->symbols[i].name))
            fail_msg("%s: has no %s", file->name, memory->symbols[i].name);
    compare_refs(file, memory);
}

/* Compares each file that PID runs, read from memory and from disk. Returns their number. */
static size_t compare_all(pid_t pid) {
    struct maps maps;
    size_t files = 0;
    assert_int_equal(maps_read(pid, &maps, NULL), 0);
    for (size_t i = 0; i < maps.list.count; i++) {
        const struct map *map = &maps.list.at[i];
        struct module *file, *memory;
        struct err err = {0};
        if (!map->executable || map->path[0] != '/')
            continue;
        assert_int_equal(module_load(map->path, MODULE_DEBUG_FILES, &file, NULL), 0);
        if (mapped_load(pid, map, &memory, &err) < 0)
            fail_msg("%s", err.text);
        compare(file, memory);
        module_free(file);
        module_free(memory);
        files++;
    }
    maps_done(&maps);
    return files;
}

static void loaded_image_equals_the_file(void **state) {
    static const struct {
        const char *name;
        size_t files;
    } programs[] = {/* fixed static ones have no PT_GNU_EH_FRAME */
                    {"shapes-pie", 3},        {"shapes-fixed", 3},     {"shapes-old-layout", 3},
                    {"shapes-static-pie", 1}, {"shapes-sysv-hash", 3}, {"shapes-relr", 3}};
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", FIXTURES, programs[i].name);
        if (access(path, X_OK) < 0)
            continue; /* the tools to build it are missing */
        pid_t pid = run_to_end(programs[i].name);
        assert_true(compare_all(pid) >= programs[i].files);
        thread_continue(pid, 0);
        child_kill(pid);
    }
}

static void image_without_headers_refused(void **state) {
    (void)state;
    struct maps maps;
    struct module *module;
    struct err err = {0};
    bool open = false;
    snprintf(shared->mapped, sizeof shared->mapped, "/tmp/spoor-mapped-%d", getpid());
    shared->ready = 0;
    make_file(shared->mapped, 'a');
    pid_t pid = child_start(map_file, &open);
    await_word(&shared->ready);
    unlink(shared->mapped);
    assert_int_equal(maps_read(pid, &maps, NULL), 0);
    for (size_t i = 0; i < maps.list.count; i++)
        if (strstr(maps.list.at[i].path, "/tmp/spoor-mapped-")) {
            assert_true(mapped_load(pid, &maps.list.at[i], &module, &err) < 0);
            assert_string_equal(err.tag, "replaced");
        }
    assert_string_equal(err.tag, "replaced");
    maps_done(&maps);
    child_kill(pid);
}

int main(void) {
    shared = shared_new(sizeof *shared);
#define TEST(name) cmocka_unit_test(name),
    const struct CMUnitTest tests[] = {TESTS};
    return cmocka_run_group_tests_name("select mapped", tests, NULL, NULL);
}

#!/usr/bin/env python3
"""Plans that `spoor record` and `spoor explain` keep in files: they are used, they are never wrong, and nobody else's
are read."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SPOOR, CC = os.environ["SPOOR"], sys.argv[1:]
PAGE = 4096
LONG_AGO = 1_000_000_000

LIBRARY = """
int first(int x) { return x * 3 + 1; }
__attribute__((weak)) int alias_of_second(int x);
int second(int x) { return x > 4 ? first(x) - 2 : first(x + 7); }
int alias_of_second(int x) __attribute__((alias("second")));
static int hidden(int x) { return second(x) ^ 5; }
int (*table[])(int) = {first, second, hidden};
int third(int x) { return table[x % 3](x) + table[(x + 1) % 3](x + 1); }
"""
PROGRAM = LIBRARY + "int main(void) { int sum = 0; for (int i = 0; i < 100; i++) sum += third(i); return sum & 1; }"
# Prints a hash of each executable mapping: patches and trampolines are in there.
TEXT = """
#include <stdio.h>
#include <string.h>
static void print_hash(const unsigned char *at, const unsigned char *end) {
    unsigned long hash = 14695981039346656037ul;
    printf("%p %p", at, end);
    for (; at < end; at++)
        hash = (hash ^ *at) * 1099511628211ul;
    printf(" %lx\\n", hash);
}
int main(void) {
    char line[512], kind[8];
    unsigned long start, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &start, &end, kind) == 3 && kind[0] == 'r' && kind[2] == 'x' &&
            !strstr(line, "[v"))
            print_hash((void *)start, (void *)end);
    printf("%d\\n", function_9(3));
    return 0;
}
"""


def many_functions(count):
    return "int function_0(int x) { return x + 1; }" + "".join(
        f"int function_{i}(int x) {{ return x > {i} ? function_{i - 1}(x) * {i} : x ^ {i}; }}" for i in range(1, count))


def settle():
    """Lets the clock of file systems tick: a file that has just changed is not remembered."""
    time.sleep(0.03)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class Cache(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.home)
        self.folder = os.path.join(self.home, "spoor")
        self.environment = {**os.environ, "XDG_CACHE_HOME": self.home}

    def path(self, name):
        return os.path.join(self.home, name)

    def compile(self, name, source, *options):
        path = self.path(name)
        subprocess.run([*CC, "-O1", "-fno-inline", "-x", "c", "-", "-Wl,--build-id", *options, "-o", path],
                       input=source.encode(), check=True)
        settle()
        return path

    def library(self, name="library.so"):
        return self.compile(name, LIBRARY, "-shared", "-fPIC")

    def spoor(self, *arguments, status=0):
        done = subprocess.run([SPOOR, *arguments], env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        self.assertEqual(done.stderr, b"")
        return done.stdout

    def explain(self, path, *options):
        return self.spoor("explain", "--json", *options, path)

    def names(self, text):
        return {f["function"] for f in json.loads(text)}

    def entries(self, kind="plan"):
        return sorted(glob.glob(os.path.join(self.folder, kind + "-*")))

    def entry(self):
        self.assertEqual(len(self.entries()), 1)
        return self.entries()[0]

    def uses(self, path, *options):
        """True if explaining PATH uses an entry that is there already."""
        before = self.entries()
        for entry in before:
            os.utime(entry, (LONG_AGO, LONG_AGO))
        inodes = {entry: os.stat(entry).st_ino for entry in before}
        self.assertEqual(self.explain(path, *options), self.explain(path, "--no-cache"))
        return any(os.path.exists(e) and os.stat(e).st_ino == inodes[e] and os.stat(e).st_mtime > LONG_AGO
                   for e in before)

    def test_a_hit_and_a_miss_give_the_same_bytes(self):
        for path in (self.library(), "/proc/self/exe", SPOOR):
            missed = self.explain(path)
            self.assertTrue(self.uses(path))
            self.assertEqual(missed, self.explain(path))

    def test_a_drawing_is_the_same(self):
        path = self.library()
        for pattern in ("second", "third"):
            drawn = [self.spoor("explain", "-F", pattern, path) for _ in range(2)]
            self.assertEqual(drawn, [self.spoor("explain", "--no-cache", "-F", pattern, path)] * 2)

    def test_options_that_change_plans_have_entries_of_their_own(self):
        path = self.library()
        plain = self.explain(path)
        self.assertNotEqual(plain, self.explain(path, "--tier=trap"))
        self.assertEqual(len(self.entries()), 2)
        self.assertEqual(self.explain(path, "--tier=trap"), self.explain(path, "--tier=trap", "--no-cache"))

    def test_traces_are_the_same(self):
        program = self.compile("program", PROGRAM)

        def calls(*options):
            trace = self.path("trace")
            self.spoor("record", "-q", "-M", "*", *options, "-o", trace, "--", program)
            info = json.loads(self.spoor("info", "--json", trace))
            rows = json.loads(self.spoor("report", "--json", "-M", "program", trace))
            shown = [(row["function"], row["calls"]) for row in rows]
            return sorted(shown), [{k: v for k, v in m.items() if k != "base"} for m in info["modules"]]

        cold, warm, without = calls(), calls(), calls("--no-cache")
        self.assertGreaterEqual(len(cold[0]), 4)
        self.assertEqual(cold, warm)
        self.assertEqual(cold, without)

    def test_library_calls_with_implementations_are_the_same(self):
        program = self.compile("program", '#include <string.h>\nint main(int n, char **v) { char b[64] = "";'
                               "for (int i = 0; i < 9; i++) strncat(b, v[0], 1); return (int)strlen(b) & 1 & n >> 5; }")

        def calls():
            trace = self.path("trace")
            self.spoor("record", "-q", "--libcalls", "-o", trace, "--", program)
            return sorted((r["function"], r["calls"]) for r in json.loads(self.spoor("report", "--json", trace)))

        self.assertEqual(calls(), calls())

    def test_many_start_at_once_on_an_empty_cache(self):
        program = self.compile("program", PROGRAM)
        command = [SPOOR, "record", "-q", "-M", "*", "--", program]
        children = [subprocess.Popen([*command[:2], "-o", self.path(f"trace{i}"), *command[2:]], env=self.environment)
                    for i in range(20)]
        plain = subprocess.run([program]).returncode
        self.assertEqual([child.wait() for child in children], [plain] * 20)
        self.assertEqual(self.entries("part"), [])
        self.assertTrue(self.uses(program))

    def test_damaged_entries_are_replaced(self):
        path = self.library()
        wanted = self.explain(path)
        good = contents(self.entry())
        damaged = [good[:at] for at in range(0, len(good), PAGE)] + [good[:-1], good + b"\0"]
        for at in {*range(0, 96, 8), *range(96, len(good), max(1, len(good) // 30)), len(good) - 1}:
            damaged.append(good[:at] + bytes([good[at] ^ 1 << at % 8]) + good[at + 1:])
        for number, text in enumerate(damaged):
            with self.subTest(number=number):
                with open(self.entry(), "wb") as file:
                    file.write(text)
                self.assertEqual(self.explain(path), wanted)
                self.assertEqual(contents(self.entry()), good)

    def test_a_damaged_record_of_a_file_is_replaced(self):
        path = self.library()
        wanted = self.explain(path)
        [record] = self.entries("file")
        good = contents(record)
        for at in range(0, len(good), 7):
            with open(record, "wb") as file:
                file.write(good[:at] + bytes([good[at] ^ 2]) + good[at + 1:])
            self.assertEqual(self.explain(path), wanted)
            self.assertEqual(contents(record), good)

    def text(self, program, *options):
        """What PROGRAM, which was made of TEXT, prints when it is recorded at addresses that are always the same."""
        command = ["setarch", "-R", SPOOR, "record", "-q", "-M", "*", *options, "-o", self.path("trace"), "--", program]
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertGreater(len(done.stdout.splitlines()), 6)
        return done.stdout

    def test_code_from_the_cache_is_that_without_a_cache(self):
        for options in ((), ("-no-pie",)):
            program = self.compile("program", many_functions(100) + TEXT, *options)
            wanted = self.text(program, "--no-cache")
            self.assertNotEqual(wanted, self.text(program, "--no-cache", "--overflow=drop"))
            self.assertEqual(self.text(program), wanted)
            entries = {e: os.stat(e).st_ino for e in self.entries("code")}
            self.assertGreaterEqual(len(entries), 2)  # of the program and of libc
            for entry in entries:
                os.utime(entry, (LONG_AGO, LONG_AGO))
            self.assertEqual(self.text(program), wanted)
            self.assertEqual({e: os.stat(e).st_ino for e in self.entries("code")}, entries)
            used = [e for e in entries if os.stat(e).st_mtime > LONG_AGO]
            self.assertGreaterEqual(len(used), 2)

    def test_code_of_libraries_serves_other_programs(self):
        first, second = (self.compile(f"program{count}", many_functions(count) + TEXT) for count in (70, 90))
        self.text(first)
        before = len(self.entries("code"))
        wanted = self.text(second, "--no-cache")
        self.assertEqual(self.text(second), wanted)
        self.assertEqual(len(self.entries("code")), before + 1)

    def test_requests_for_other_code_have_code_of_their_own(self):
        program = self.compile("program", many_functions(100) + TEXT)
        for options in ((), ("--overflow=drop",), ("-F", "function_1*"), ("--buffer=64K",), ("--stack",)):
            wanted = self.text(program, "--no-cache", *options)
            self.assertEqual([self.text(program, *options) for _ in range(2)], [wanted] * 2, options)

    def test_damaged_code_is_not_used(self):
        program = self.compile("program", many_functions(100) + TEXT)
        wanted = self.text(program)
        entries = self.entries("code")
        for kind in ("code", "outline"):
            for entry in self.entries(kind):
                good = contents(entry)
                for part in range(3):
                    at = len(good) * part // 3
                    for text in (good[:at], good[:at] + bytes([good[at] ^ 1 << part]) + good[at + 1:]):
                        with open(entry, "wb") as file:
                            file.write(text)
                        self.assertEqual(self.text(program), wanted)
                        self.assertEqual(contents(entry), good)
        self.assertEqual(self.entries("code"), entries)

    def test_addresses_by_chance_give_the_same_functions(self):
        program = self.compile("program", many_functions(100) + TEXT, "-no-pie")
        info = set()
        for _ in range(12):
            trace = self.path("trace")
            self.spoor("record", "-q", "-F", "function_*", "-o", trace, "--", program)
            rows = json.loads(self.spoor("report", "--json", trace))
            info.add(tuple(sorted((r["function"], r["calls"]) for r in rows)))
        self.assertEqual(len(info), 1)
        self.assertGreaterEqual(len(self.entries("code")), 1)

    def change_text(self, path):
        """Replaces the body of first() in place, so that the build ID, the size and all symbols stay."""
        [line] = [words for words in map(str.split, subprocess.run(
            ["objdump", "-d", "-F", path], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines())
            if len(words) > 1 and words[1] == "<first>"]
        with open(path, "r+b") as file:
            file.seek(int(line[-1].rstrip("):"), 16))
            file.write(b"\xc3\xcc")
        settle()

    def test_changed_text_with_the_same_build_id_has_a_plan_of_its_own(self):
        path = self.library()
        before = self.explain(path)
        self.change_text(path)
        after = self.explain(path)
        self.assertEqual(after, self.explain(path, "--no-cache"))
        self.assertNotEqual(before, after)
        copy = self.path("copy.so")
        shutil.copy2(path, copy)
        settle()
        self.assertTrue(self.uses(copy))

    def test_a_library_changed_in_place_between_two_processes_is_planned_anew(self):
        """The second process maps the same inode with the same build ID, but other code."""
        old = "int work(int x) { return x + 1; }"
        new = "int more(int x) { if (x > 2) return 40; return work(x) + 3; }" \
              "int work(int x) { static int all; for (int i = 0; i < x; i++) all += i * x; return all; }"
        for name, source in (("used.so", old), ("new.so", "int work(int x);" + new)):
            self.compile(name, source, "-shared", "-fPIC", "-Wl,--build-id=0x1234")
            os.truncate(self.path(name), 1 << 16)
        main = "int work(int x); int main(void) { return work(3) + work(4); }"
        program = self.compile("user", main, "-Wl," + self.path("used.so"))
        script = f"{program}; a=$?; dd if={self.path('new.so')} of={self.path('used.so')} conv=notrunc 2>/dev/null; " \
                 f"chmod 700 {self.path('used.so')}; sleep 0.1; {program}; echo $a $?"
        shutil.copyfile(self.path("used.so"), self.path("kept.so"))
        for option in ("--cache-size=64M", "--no-cache"):
            shutil.copyfile(self.path("kept.so"), self.path("used.so"))
            settle()
            text = self.spoor("record", "-q", option, "-M", "used.so", "-o", self.path("trace"), "sh", "-c", script)
            self.assertEqual(text.split(), [b"9", b"42"])
            self.assertEqual(self.spoor("replay", self.path("trace")).count(b"work"), 4)

    def test_a_stripped_file_has_a_plan_of_its_own(self):
        path, stripped = self.library(), self.path("stripped.so")
        self.assertIn("hidden", self.names(self.explain(path)))
        subprocess.run(["strip", "-o", stripped, path], check=True)
        settle()
        self.assertFalse(self.uses(stripped))
        self.assertNotIn("hidden", self.names(self.explain(stripped)))
        debug = self.path("stripped.debug")
        subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
        subprocess.run(["objcopy", "--add-gnu-debuglink=" + debug, stripped], check=True)
        settle()
        self.assertIn("hidden", self.names(self.explain(stripped)))
        self.assertTrue(self.uses(stripped))
        os.remove(debug)
        self.assertNotIn("hidden", self.names(self.explain(stripped)))

    def assert_unused(self, path):
        """The entry of PATH is neither read nor written, and that is no error."""
        self.assertFalse(self.uses(path))

    def test_a_folder_that_others_can_write_is_not_used(self):
        path = self.library()
        self.explain(path)
        for mode in (0o777, 0o770, 0o702):
            os.chmod(self.folder, mode)
            self.assert_unused(path)
        os.chmod(self.folder, 0o755)
        self.assertTrue(self.uses(path))
        os.chmod(self.entry(), 0o666)
        self.assert_unused(path)

    def test_another_users_folder_and_entries_are_not_used(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        path = self.library()
        self.explain(path)
        os.chown(self.folder, 1234, 1234)
        self.assert_unused(path)
        os.chown(self.folder, 0, 0)
        os.chown(self.entry(), 1234, 1234)
        self.assert_unused(path)

    def test_files_that_others_can_change_are_not_remembered(self):
        """Another user could change the file between the digest and the plan."""
        path = self.library()
        os.chmod(path, 0o777)
        settle()
        self.explain(path)
        self.assertEqual(self.entries() + self.entries("file"), [])
        os.chmod(path, 0o755)
        settle()
        self.explain(path)
        self.assertTrue(self.uses(path))

    def test_links_are_not_followed(self):
        path = self.library()
        self.explain(path)
        entry = self.entry()
        os.rename(entry, self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), entry)
        self.assert_unused(path)
        os.rename(self.folder, self.path("real"))
        os.symlink(self.path("real"), self.folder)
        self.assert_unused(path)

    def test_without_a_folder_all_works(self):
        path = self.library()
        wanted = self.explain(path, "--no-cache")
        self.assertFalse(os.path.exists(self.folder))
        for home in ("/dev/null", "/proc/nowhere"):
            self.environment["XDG_CACHE_HOME"] = home
            self.assertEqual(self.explain(path), wanted)

    def test_home_is_used_without_xdg(self):
        path = self.library()
        self.environment["HOME"] = self.home
        for relative in (None, "", "here"):
            self.environment.pop("XDG_CACHE_HOME", None)
            if relative is not None:
                self.environment["XDG_CACHE_HOME"] = relative
            self.explain(path)
        self.assertEqual(len(glob.glob(self.path(".cache/spoor/plan-*"))), 1)

    def test_the_size_is_bounded_and_the_least_recently_used_goes(self):
        paths = []
        for i in range(4):
            paths.append(self.compile(f"library{i}.so", LIBRARY + f"int more{i}(void) {{ return {i}; }}", "-shared",
                                      "-fPIC"))
        self.explain(paths[0])
        room = 4 * os.stat(self.entry()).st_blocks * 512
        kept = {paths[0]: self.entry()}
        for path in paths[1:]:
            for entry in self.entries():
                if entry != kept[paths[0]]:
                    os.utime(entry, (LONG_AGO, LONG_AGO))
            self.explain(path, f"--cache-size={room}")
            used = sum(os.stat(f).st_blocks * 512 for f in glob.glob(self.folder + "/*"))
            self.assertLessEqual(used, room)
        self.assertIn(kept[paths[0]], self.entries())
        self.assertLess(len(self.entries()), 4)
        self.explain(self.library("one.so"), "--cache-size=1K")
        self.assertEqual(glob.glob(self.folder + "/*"), [])

    def test_no_cache(self):
        path = self.library()
        self.explain(path, "--no-cache")
        self.spoor("record", "--no-cache", "-q", "-o", self.path("trace"), "--", "true")
        self.assertFalse(os.path.exists(self.folder))
        self.explain(path)
        os.utime(self.entry(), (LONG_AGO, LONG_AGO))
        self.explain(path, "--no-cache")
        self.assertEqual(os.stat(self.entry()).st_mtime, LONG_AGO)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

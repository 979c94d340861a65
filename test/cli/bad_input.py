#!/usr/bin/env python3
"""Bad input: spoor prints one clear line and has the right status in each case of the contract's list. Programs run
correctly."""
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SPOOR = os.environ["SPOOR"]
VIEWS = (("report",), ("replay",), ("graph",), ("info",), ("export", "--format=chrome"))


def run(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, **more)


def compile_c(path, text, *flags):
    subprocess.run(["gcc", "-x", "c", "-", "-O1", "-o", path, *flags], input=text, text=True,
                   check=True)
    return path


class BadInput(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.trace = self.path("t.trace")

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content, mode=0o644):
        with open(self.path(name), "wb") as out:
            out.write(content)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def record(self, *words, **more):
        return run(SPOOR, "record", "-o", self.trace, *words, **more)

    def good_trace(self):
        self.assertEqual(self.record("-q", "/bin/ls", "/").returncode, 0)
        with open(self.trace, "rb") as f:
            return f.read()

    def one_line(self, result, status, *parts):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertTrue(result.stderr.startswith("spoor: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    # ---- programs ----

    def test_missing_program_is_127(self):
        self.one_line(self.record("no-such-program"), 127, "no-such-program", "no such program")
        self.assertEqual(os.listdir(self.directory), [])

    def test_unexecutable_program_is_126(self):
        program = self.write("plain.txt", b"hello\n")
        self.one_line(self.record(program), 126, program)
        self.one_line(self.record(self.directory), 126, self.directory)

    def test_damaged_program(self):
        program = self.write("broken", b"\x7fELF" + b"\xff" * 200, 0o755)
        self.one_line(self.record(program), 126, program)
        self.assertEqual(os.listdir(self.directory), ["broken"])

    def test_program_for_another_machine(self):
        if glob.glob("/proc/sys/fs/binfmt_misc/qemu-*"):
            self.skipTest("the kernel gives such programs to an emulator")
        with open("/bin/true", "rb") as f:
            elf = f.read()
        for number, name, works in ((183, "aarch64", True), (40, "arm", True), (243, "243", False)):
            with self.subTest(name):
                program = self.write("foreign", elf[:18] + struct.pack("<H", number) + elf[20:], 0o755)
                result = self.record(program)
                self.one_line(result, 126, program, "for another machine", name)
                self.assertEqual("explain" in result.stderr, works, result.stderr)

    def test_script(self):
        script = self.write("script", b"#!/bin/sh\necho from a script\nexit 3\n", 0o755)
        result = self.record(script)
        self.assertEqual((result.returncode, result.stdout), (3, "from a script\n"))
        functions = run(SPOOR, "info", "--json", self.trace).stdout
        self.assertNotIn('"instrumented": 0,', functions)

    def test_exit_status_and_signals(self):
        self.assertEqual(self.record("-q", "sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(self.record("-q", "sh", "-c", "kill -SEGV $$").returncode, 128 + 11)

    def test_unmatched_filter(self):
        touched = self.path("touched")
        program = compile_c(self.path("p"), f"""
            #include <fcntl.h>
            __attribute__((noinline)) int compute_sum(int x) {{ return open("{touched}", O_CREAT, x); }}
            int main(void) {{ return compute_sum(0600) < 0; }}""")
        result = self.record("--no-follow", "-F", "compute_sun", program)
        self.one_line(result, 125, "compute_sun", "compute_sum")
        self.assertFalse(os.path.exists(touched))

    def test_explain_of_foreign_files(self):
        with open("/bin/true", "rb") as f:
            elf = f.read()
        cases = {"empty": b"", "text": b"hello, world\n" * 10, "cut": elf[:300],
                 "class32": elf[:4] + b"\x01" + elf[5:],
                 "foreign": elf[:18] + struct.pack("<H", 243) + elf[20:]}
        for name, content in cases.items():
            with self.subTest(name):
                path = self.write(name, content)
                result = run(SPOOR, "explain", path)
                self.one_line(result, 1, name)
                self.assertEqual(result.stdout, "")
        self.one_line(run(SPOOR, "explain", self.path("missing")), 1, "missing")

    def test_explain_of_a_dead_process(self):
        child = subprocess.Popen(["true"])
        child.wait()
        self.one_line(run(SPOOR, "explain", str(child.pid)), 1, str(child.pid))

    def huge(self, name, at, *options):
        """A program with its code at the fixed address AT and two gigabytes of data behind it. OPTIONS place two more
        gigabytes."""
        return compile_c(self.path(name), """
            #include <stdio.h>
            volatile char huge[0x7ff00000];
            __asm__(".section more, \\"aw\\", @nobits; .zero 0x7f000000; .text");
            __attribute__((noinline)) static int touch(int i) { return huge[i]; }
            int main(int argc, char **argv) { (void)argv; printf("%d fine\\n", touch(argc)); return 6; }""",
                         "-static", "-no-pie", f"-Wl,-Ttext-segment={at:#x}", *options)

    def test_program_with_little_room_for_trampolines(self):
        program = self.huge("less", 0x100000, "-Wl,--section-start=more=0x100000000")
        result = self.record(program)
        self.assertEqual((result.returncode, result.stdout), (6, "0 fine\n"))
        some, of_all = map(int, re.search(r" (\d+) of (\d+) functions instrumented", result.stderr).groups())
        self.assertTrue(0 < some < of_all, result.stderr)

    def no_address(self, at, mid):
        """The number of functions without room for a trampoline in a program at the fixed address AT. There is room
        from the first megabyte up to AT, except for a page at MID."""
        program = compile_c(self.path("cramped"), """
            #include <stdio.h>
            __asm__(".section far, \\"aw\\", @nobits; .zero 0x7fff0000; .section mid, \\"aw\\", @nobits; .zero 4096;"
                    ".section more, \\"aw\\", @nobits; .zero 0x7f000000; .text");
            int main(void) { puts("fine"); return 6; }""", "-static", "-no-pie", f"-Wl,-Ttext-segment={at:#x}",
                            f"-Wl,--section-start=far={at + 0xf0000:#x}", f"-Wl,--section-start=mid={mid:#x}",
                            "-Wl,--section-start=more=0x100000000")
        result = self.record(program)
        self.assertEqual((result.returncode, result.stdout), (6, "fine\n"))
        functions = json.loads(run(SPOOR, "info", "--json", self.trace).stdout)["functions"]
        self.assertGreater(functions["instrumented"], 0)
        return sum(refused["count"] for refused in functions["refused"] if refused["reason"] == "no-address")

    def test_room_in_a_second_place(self):
        self.assertGreater(self.no_address(0x1a0000, 0x80000), 0)
        self.assertEqual(self.no_address(0x200000, 0x1a0000), 0)

    def test_program_without_room_for_trampolines(self):
        with open("/proc/sys/vm/mmap_min_addr", encoding="ascii") as lowest:
            at = max(int(lowest.read()), 4096)
        names = run("nm", self.huge("less", at, "-Wl,--section-start=more=0x100000000")).stdout
        end = int(re.search(r"^(\w+) B _end$", names, re.M)[1], 16)
        program = self.huge("huge", at, f"-Wl,--section-start=more={-(-end // 4096) * 4096:#x}")
        result = self.record("-q", program)
        self.assertEqual((result.returncode, result.stdout), (6, "0 fine\n"))
        result = self.record(program)
        self.assertIn("no room for trampolines within reach", result.stderr)
        self.assertIn(" 0 of 0 functions instrumented", result.stderr)

    # ---- traces ----

    def test_views_of_other_files(self):
        good = self.good_trace()
        cases = {"empty": b"", "foreign": b"\x7fELF" + b"\0" * 500, "text": b"hello\n" * 50}
        for name, content in cases.items():
            path = self.write(name, content)
            for view in VIEWS:
                with self.subTest(case=name, view=view):
                    result = run(SPOOR, *view, path)
                    self.one_line(result, 1, name)
                    self.assertEqual(result.stdout, "")
        for view in VIEWS:
            self.one_line(run(SPOOR, *view, self.path("missing")), 1, "missing")
        self.assertGreater(len(good), 100)

    def test_newer_trace_format(self):
        good = bytearray(self.good_trace())
        good[8:12] = struct.pack("<I", 99)  # doc/trace-format.md: the version field
        path = self.write("newer", bytes(good))
        for view in VIEWS:
            self.one_line(run(SPOOR, *view, path), 1, "newer", "99")

    def test_truncated_trace(self):
        good = self.good_trace()
        for size in (len(good) - 1, len(good) * 2 // 3, len(good) // 2):
            path = self.write("cut", good[:size])
            for view in VIEWS:
                with self.subTest(size=size, view=view):
                    result = run(SPOOR, *view, path)
                    self.assertIn(result.returncode, (0, 1))
                    self.assertTrue(result.stderr.startswith("spoor: "), result.stderr)

    def test_trace_without_a_readable_event(self):
        good = self.good_trace()
        empty = False
        for size in range(60, len(good), max(1, len(good) // 20)):
            path = self.write("cut", good[:size])
            rows = run(SPOOR, "report", "--json", path)
            if rows.stdout.strip() in ("[]", "[\n]"):
                empty = True
                self.assertEqual(rows.returncode, 1, size)
                self.assertEqual(run(SPOOR, "report", path).returncode, 1, size)
        self.assertTrue(empty, "no part was without events")

    def test_damaged_trace(self):
        good = self.good_trace()
        for at in range(40, len(good), max(1, len(good) // 25)):
            path = self.write("damaged", good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1:])
            for view in VIEWS:
                with self.subTest(at=at, view=view):
                    self.assertIn(run(SPOOR, *view, path).returncode, (0, 1))

    def test_unmatched_filter_of_a_view(self):
        self.good_trace()
        for view in VIEWS:
            if view[0] != "info":
                self.one_line(run(SPOOR, *view, "-F", "no_such_function_x", self.trace), 1,
                              "no_such_function_x")

    # ---- full disks, closed pipes, interruptions ----

    def test_full_disk_during_a_recording(self):
        result = run(SPOOR, "record", "-o", "/dev/full", "sh", "-c", "echo alive; exit 5")
        self.assertEqual((result.returncode, result.stdout), (125, "alive\n"))
        self.assertIn("No space left on device", result.stderr)

    def test_impossible_output(self):
        result = run(SPOOR, "record", "-o", self.path("no/such/folder/t"), "sh", "-c", "echo ran")
        self.one_line(result, 125, "no/such/folder")
        self.assertEqual(result.stdout, "")

    def test_full_disk_of_a_view(self):
        self.good_trace()
        for view in VIEWS:
            with open("/dev/full", "w") as full:
                result = subprocess.run([SPOOR, *view, self.trace], stdout=full,
                                        stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(result.returncode, 1, view)
            self.assertIn("No space left on device", result.stderr)

    def test_closed_pipe_of_a_view(self):
        program = compile_c(self.path("p"), """
            __attribute__((noinline)) int leaf(int x) { __asm__ volatile(""); return x + 1; }
            int main(void) { int s = 0; for (int i = 0; i < 300000; i++) s = leaf(s); return s == 1; }""")
        self.assertEqual(self.record("-q", program).returncode, 0)
        for view in (("replay",), ("replay", "--json"), ("export", "--format=chrome")):
            p = subprocess.Popen([SPOOR, *view, self.trace], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            p.stdout.read(1000)
            p.stdout.close()
            self.assertEqual(p.stderr.read(), b"", view)
            p.stderr.close()
            self.assertIn(p.wait(timeout=20), (0, 1, 128 + signal.SIGPIPE, -signal.SIGPIPE))

    def test_interrupted_view(self):
        self.good_trace()
        p = subprocess.Popen([SPOOR, "replay", self.trace], stdout=subprocess.PIPE)
        time.sleep(0.02)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=10)
        self.assertIn(p.returncode, (0, 130, -signal.SIGINT))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)

#!/usr/bin/env python3
"""Functions by source file: record -L, views with -L, and the column "line"; what is said where files are not known."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SPOOR, CC = os.environ["SPOOR"], sys.argv[1:]
SOURCES = {
    "src/first.c": "int second(int);\n__attribute__((noinline)) static int own(int i) { return i + second(i); }\n"
                   "int main(int c, char **v) { return own(c) > 1000 + !v; }\n",
    "src/second.c": "\n\n__attribute__((noinline)) static int inner(int i) { __asm__ volatile(\"\"); return i; }\n"
                    "int second(int i) { return inner(i) + 1; }\n",
}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True, timeout=60)


class SourceFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        os.chdir(cls.directory.name)
        os.mkdir("src")
        for name, text in SOURCES.items():
            with open(name, "w", encoding="ascii") as file:
                file.write(text)
        cls.build("-g", "with")
        cls.build("-g0", "without")

    @staticmethod
    def build(flag, name):
        subprocess.run([*CC, "-O1", flag, "-Wl,--build-id=sha1", "-o", name, *map(os.path.abspath, SOURCES)], check=True)

    def record(self, *words):
        done = run(SPOOR, "record", "-q", "-o", "trace", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def functions(self, *options):
        done = run(SPOOR, "report", "--json", *options, "trace")
        self.assertEqual(done.stderr, "")
        return {row["function"] for row in json.loads(done.stdout)}

    def refused(self, status, text, *command):
        done = run(SPOOR, *command)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (status, 1), done.stderr)
        self.assertIn(text, done.stderr)

    def test_recorded_files(self):
        for glob in "second.c", "src/second.c", "*second.c":
            self.record("-L", glob, "./with")
            self.assertEqual(self.functions(), {"second", "inner"})
        self.record("--file=*.c", "-N", "inner", "-F", "*n*", "./with")
        self.assertEqual(self.functions(), {"main", "own", "second"})

    def test_shown_files(self):
        self.record("./with")
        self.assertEqual(self.functions("-L", "first.c"), {"main", "own"})
        self.assertEqual(self.functions("-L", "first.c", "-F", "o*"), {"own"})
        self.assertEqual(self.functions("-L", "second.c", "--callees"), {"second", "inner"})
        self.refused(1, "no function of the trace begins in such a source file", "report", "-L", "third.c", "trace")
        self.refused(1, "no function of the trace begins", "replay", "-L", "cond.c", "trace")

    def test_lines(self):
        self.record("./with")
        rows = json.loads(run(SPOOR, "report", "--json", "--columns=line", "-F", "inner", "trace").stdout)
        self.assertTrue(rows[0]["file"].endswith("src/second.c"))
        self.assertEqual(rows[0]["line"], 3)
        table = run(SPOOR, "report", "--sort=line", "--columns=function,line", "-L", "src/*", "trace").stdout
        self.assertEqual([line.split()[0] for line in table.splitlines()[1:5]], ["own", "main", "inner", "second"])
        lines = run(SPOOR, "replay", "--columns=line", "-F", "own", "trace").stdout.splitlines()
        self.assertRegex(lines[-1], r"src/first.c:2 +\| own\(\);")

    def test_columns_behind_lines(self):
        """What is behind a path begins in the same column in each row, however long the path is."""
        folder = "a" * 40
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/long.c", "w", encoding="ascii") as file:
            file.write("int outside(void) { return 1; }\n")
        with open("short.c", "w", encoding="ascii") as file:
            file.write("int outside(void);\nint main(void) { return outside() - 1; }\n")
        subprocess.run([*CC, "-O0", "-g", "-o", "mixed", f"{folder}/long.c", "short.c"], check=True)
        self.record("-F", "main", "-F", "outside", "./mixed")
        head, *rows = run(SPOOR, "report", "--columns=calls,line,function", "trace").stdout.splitlines()[:3]
        starts = [row.index(name) for row in rows for name in ("main", "outside") if row.endswith(name)]
        self.assertEqual(starts, [head.index("FUNCTION")] * 2, [head, *rows])
        self.assertIn(f"{folder}/long.c:1  outside", "\n".join(rows))

    def test_unknown_files(self):
        self.refused(125, "no debugging information", "record", "--no-follow",
                     "-L", "second.c", "-o", "trace", "./without")
        self.refused(125, "no function that can be traced", "record", "--no-follow",
                     "-L", "third.c", "-o", "trace", "./with")
        self.record("./without")
        self.refused(1, "source files are not known", "report", "-L", "first.c", "trace")

    def test_changed_program(self):
        self.build("-g", "other")
        self.record("./other")
        subprocess.run([*CC, "-O2", "-g", "-Wl,--build-id=sha1", "-o", "other", *SOURCES], check=True)
        self.refused(1, "were changed", "report", "-L", "first.c", "trace")
        self.assertIn(" -\n", run(SPOOR, "report", "--columns=function,line", "trace").stdout)


unittest.main(argv=sys.argv[:1])

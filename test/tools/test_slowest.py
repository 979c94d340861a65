"""tools/slowest: its tables, from logs and in test/durations.txt."""
import json
import os
import shutil
import tempfile
import unittest

from support import run, tool, write


class Slowest(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        self.tools = os.path.join(self.top.name, "tools")
        os.mkdir(self.tools)
        for name in ("slowest", "testing.py"):
            shutil.copy(tool(name), self.tools)
        self.table = write(self.top.name, "test/durations.txt", "# head\n7 other\n3 a: b\n")
        self.build = os.path.join(self.top.name, "build")
        tests = [{"name": f"spoor:trace+{suite} / {name}", "duration": seconds, "result": "OK"}
                 for name, seconds, suite in (("a: b", 12.4, "long"), ("brief", 0.2, "long"), ("c", 2.6, "fast"))]
        write(self.build, "meson-logs/counted.json", "\n".join(map(json.dumps, tests)))
        write(self.build, "meson-logs/noted.json", json.dumps(["a round", 400]))
        write(self.build, ".ninja_log", "# ninja log v5\n0\t1500\t0\tx.o\tf\n0\t1500\t0\tx.d\tf\n100\t400\t0\ty.o\tg\n")

    def slowest(self, *words):
        return run(os.path.join(self.tools, "slowest"), *words, self.build).stdout.splitlines()

    def test_order_of_tests_and_steps(self):
        self.assertEqual([line.strip() for line in self.slowest("--count=2")],
                         [f"{self.build}: tests: 3, 15 s in all", "12.4 s  a: b", "2.6 s  c",
                          f"{self.build}: steps of the build: 2, 2 s in all", "1.5 s  x.o", "0.3 s  y.o"])

    def test_updated_table(self):
        self.slowest("--update")
        with open(self.table, encoding="utf-8") as lines:
            self.assertEqual([line.rstrip() for line in lines], ["# head", "400 a round", "12 a: b", "7 other"])


if __name__ == "__main__":
    unittest.main()

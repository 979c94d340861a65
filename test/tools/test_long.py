"""tools/run-long: the parts of "make check-long", and the counts of results. A fake meson describes and reports the
tests."""
import json
import os
import re
import tempfile
import unittest

from support import SOURCE, run, tool, write

FAKE_MESON = """#!/bin/sh
# meson introspect --tests DIR; meson test -C DIR ... NAME...: each test that is named is noted, and has passed.
if [ "$1" = introspect ]; then exec cat "$3/tests.json"; fi
for word; do
    case $word in
    spoor:*) name=${word#spoor:} ;;
    --setup=sanitize) name=sanitized ;;
    *) continue ;;
    esac
    echo "$name" >>"$3/ran"
    echo "{\\"name\\": \\"$name\\", \\"result\\": \\"OK\\"}" >>"$3/meson-logs/counted.json"
done
"""


class Long(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        os.chmod(write(self.top.name, "bin/meson", FAKE_MESON), 0o755)
        self.build, self.sanitized = (os.path.join(self.top.name, name) for name in ("build", "build-sanitize"))
        for directory in self.build, self.sanitized:
            write(directory, "build.ninja", "")
            write(directory, "meson-logs/old.txt", "")
        tests = [{"name": f"test {n}", "suite": ["spoor:trace", "spoor:long" if n % 3 else "spoor:fast"], "env": {},
                  "cmd": ["true"], "workdir": None, "timeout": 30, "is_parallel": n % 2 == 0} for n in range(30)]
        write(self.build, "tests.json", json.dumps(tests))
        self.long = {test["name"] for test in tests if "spoor:long" in test["suite"]}

    def run_long(self, *words):
        path = os.path.join(self.top.name, "bin") + ":" + os.environ["PATH"]
        return run(tool("run-long"), "--rounds=4", "--seed=1", *words, self.build, self.sanitized,
                   os.path.join(self.top.name, "never"), env={**os.environ, "PATH": path})

    def listed(self, shard, *words):
        lines = self.run_long(f"--shard={shard}", "--list", *words).stdout.splitlines()[1:]
        return [re.match(r" *(\d+) (.*)", line).groups() for line in lines]

    def everything(self):
        return self.long | {"build-sanitize"} | {f"round {n}" for n in (1, 2, 3, 4)}

    def test_run_without_parts(self):
        self.assertEqual({name for _, name in self.listed("1/1")}, self.everything())

    def test_one_part_per_piece(self):
        for parts in (2, 7):
            names = [name for number in range(1, parts + 1) for _, name in self.listed(f"{number}/{parts}")]
            self.assertEqual(sorted(names), sorted(self.everything()))

    def test_equal_times_of_parts(self):
        sums = [sum(int(seconds) for seconds, _ in self.listed(f"{number}/2", "--rounds=5")) for number in (1, 2)]
        self.assertLess(max(sums) - min(sums), max(sums) / 4)

    def test_count_of_run_tests(self):
        result = self.run_long()
        with open(os.path.join(self.build, "ran"), encoding="utf-8") as lines:
            self.assertEqual({line.strip() for line in lines}, self.long)
        self.assertEqual(result.stdout.splitlines()[-1],
                         f"{len(self.long) + 1 + 4 * 30} passed, 0 failed, 0 skipped")
        self.assertEqual(result.returncode, 0)

    def test_missing_part(self):
        for shard in ("0/2", "3/2", "2", "a/b"):
            self.assertEqual(self.run_long(f"--shard={shard}").returncode, 2)

    def test_table_of_durations(self):
        with open(os.path.join(SOURCE, "test", "durations.txt"), encoding="utf-8") as lines:
            for line in lines:
                self.assertRegex(line, r"^(#.*|\d+ \S.*)$")


if __name__ == "__main__":
    unittest.main()

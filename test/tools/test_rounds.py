"""tools/run-rounds: which tests it runs, their order, and the counts of results. A fake meson describes the tests."""
import json
import os
import tempfile
import unittest

from support import run, tool, write

FAKE_MESON = """#!/bin/sh
# meson introspect --tests DIR
cat "$3/tests.json"
"""
# A test that writes its name and the seed to a file, and its cache to another, and exits with the given status.
TEST = 'echo "$0 $SPOOR_TEST_SEED" >> ran; echo "$XDG_CACHE_HOME" > cache; exit "$1"'


class Rounds(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        os.chmod(write(self.top.name, "bin/meson", FAKE_MESON), 0o755)

    def describe(self, tests):
        """TESTS are (name, suites, status)."""
        described = [{"name": name, "suite": [f"spoor:{suite}" for suite in suites], "env": {},
                      "cmd": ["/bin/sh", "-c", TEST, name, str(status)], "workdir": None,
                      "timeout": 30, "is_parallel": False} for name, suites, status in tests]
        write(self.top.name, "tests.json", json.dumps(described))

    def rounds(self, *words):
        """Returns the printed lines, the status, and (name, seed) of each test that has run."""
        path = os.path.join(self.top.name, "bin") + ":" + os.environ["PATH"]
        result = run(tool("run-rounds"), self.top.name, *words, env={**os.environ, "PATH": path})
        ran = os.path.join(self.top.name, "ran")
        names = []
        if os.path.exists(ran):
            with open(ran, encoding="utf-8") as lines:
                names = [tuple(line.split()) for line in lines]
            os.remove(ran)
        return result.stdout.splitlines(), result.returncode, names

    def test_suites_of_each_round(self):
        self.describe([("a", ["trace"], 0), ("b", ["real"], 0), ("c", ["fault"], 0), ("d", ["unit"], 0)])
        lines, status, ran = self.rounds("--rounds=2", "--seed=7")
        self.assertEqual((lines[-1], status), ("6 passed, 0 failed, 0 skipped", 0))
        self.assertEqual(sorted(ran), [(name, seed) for name in "abc" for seed in "78"])
        self.assertIn("seed 7", lines[0])

    def test_cache_is_not_the_users(self):
        self.describe([("a", ["trace"], 0)])
        self.rounds("--rounds=1")
        with open(os.path.join(self.top.name, "cache"), encoding="utf-8") as line:
            self.assertEqual(line.read(), os.path.join(os.path.realpath(self.top.name), "test-cache") + "\n")

    def test_only_tests_with_a_seed(self):
        self.describe([("a", ["trace"], 0), ("b", ["real"], 0), ("c", ["fault"], 0)])
        path = os.path.join(self.top.name, "tests.json")
        with open(path, encoding="utf-8") as file:
            tests = json.load(file)
        for test, text in zip(tests, ("from harness import SEED", "import json", "from fault import Spoor")):
            test["cmd"].append(write(self.top.name, test["name"] + ".py", text))
        write(self.top.name, "tests.json", json.dumps(tests))
        self.assertEqual({name for name, _ in self.rounds("--rounds=1")[2]}, {"a", "c"})
        self.assertEqual([name for name, _ in self.rounds("--rounds=1", "--test=b")[2]], ["b"])

    def test_random_order_by_seed(self):
        self.describe([(str(n), ["trace"], 0) for n in range(8)])
        orders = [self.rounds("--rounds=1", f"--seed={seed}")[2] for seed in (1, 1, 2)]
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual([name for name, _ in orders[0]], [name for name, _ in orders[2]])

    def test_seed_of_failures(self):
        self.describe([("good", ["trace"], 0), ("bad", ["fault"], 1)])
        lines, status, _ = self.rounds("--rounds=2", "--seed=5")
        self.assertEqual((lines[-1], status), ("2 passed, 2 failed, 0 skipped", 1))
        self.assertIn("failed: bad (status 1) with seed 6", lines)
        self.assertIn("failed 2 times: bad", lines)

    def test_skipped_tests(self):
        self.describe([("a", ["trace"], 0), ("b", ["trace"], 77)])
        lines, status, _ = self.rounds("--rounds=1")
        self.assertEqual((lines[-1], status), ("1 passed, 0 failed, 1 skipped", 0))

    def test_single_rounds_by_seed(self):
        self.describe([("a", ["trace"], 0)])
        lines, _, ran = self.rounds("--rounds=5", "--only=2,5", "--seed=10")
        self.assertEqual((lines[-1], ran), ("2 passed, 0 failed, 0 skipped", [("a", "11"), ("a", "14")]))

    def test_one_build_per_round_by_seed(self):
        self.describe([(f"a ({way})", ["trace"], 0) for way in "xyz"] + [("b (x)", ["fault"], 0), ("b (y)", ["fault"], 0)])
        rounds = [self.rounds("--rounds=1", f"--seed={seed}")[2] for seed in (1, 1, 5, 6)]
        self.assertEqual({len(ran) for ran in rounds}, {3})
        self.assertEqual(sorted(rounds[0]), sorted(rounds[1]))
        self.assertGreater(len({words[1] for ran in rounds for words in ran if words[0] == "a"}), 1)
        self.assertEqual(len(self.rounds("--rounds=1", "--all-ways")[2]), 5)

    def test_single_test_repeated(self):
        self.describe([("a", ["trace"], 0), ("b", ["trace"], 0)])
        self.assertEqual(self.rounds("--rounds=1", "--seed=9", "--test=b")[2], [("b", "9")])

    def test_times_of_the_longest_tests(self):
        self.describe([("a", ["trace"], 0), ("b", ["trace"], 0)])
        lines, _, _ = self.rounds("--rounds=1", "--longest=1")
        self.assertRegex(lines[2], r"^ *\d+\.\d s, \d+\.\d s of work: [ab]$")
        self.assertEqual(len(lines), 4)

    def test_empty_run_fails(self):
        self.describe([])
        lines, status, _ = self.rounds("--rounds=1")
        self.assertEqual((lines[-1], status), ("0 passed, 0 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()

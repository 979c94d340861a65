"""tools/run-tests: its last line and status. A fake meson writes the results."""
import json
import os
import tempfile
import unittest

from support import run, tool, write

FAKE_MESON = """#!/bin/sh
# meson test -C DIR ... --logbase counted: DIR/results is what it reports, DIR/status how it ends.
cp "$3/results" "$3/meson-logs/counted.json" 2>/dev/null
exit "$(cat "$3/status")"
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        os.chmod(write(self.top.name, "bin/meson", FAKE_MESON), 0o755)

    def build(self, name, results, status=0):
        """A build directory whose tests end with RESULTS; None: meson writes no log."""
        directory = os.path.join(self.top.name, name)
        write(directory, "build.ninja", "")
        write(directory, "meson-logs/old.txt", "")
        write(directory, "status", str(status))
        if results is not None:
            lines = [json.dumps({"name": f"t{i}", "result": r, "stdout": f"first\nwhy {i}\n"})
                     for i, r in enumerate(results)]
            write(directory, "results", "\n".join(lines) + "\n" if lines else "")
        return directory

    def lines_of(self, *words):
        path = os.path.join(self.top.name, "bin") + ":" + os.environ["PATH"]
        result = run(tool("run-tests"), *words, env={**os.environ, "PATH": path})
        lines = result.stdout.splitlines()
        self.assertRegex(lines[-2], r"^total time: \d+:\d\d minutes$")
        return [line for line in lines if " minutes" not in line], result.returncode

    def runner(self, *words):
        lines, status = self.lines_of(*words)
        return lines[-1], status

    def test_all_passed(self):
        self.assertEqual(self.runner(self.build("a", ["OK", "OK"])), ("2 passed, 0 failed, 0 skipped", 0))

    def test_skipped_tests(self):
        self.assertEqual(self.runner(self.build("a", ["OK", "SKIP"])),
                         ("1 passed, 0 failed, 1 skipped", 0))

    def test_names_and_reasons_of_skipped_tests(self):
        lines, _ = self.lines_of(self.build("a", ["OK", "SKIP", "EXPECTEDFAIL"]))
        self.assertEqual(lines[:-1], ["skipped: t1 (why 1)", "known limit: t2"])

    def test_names_and_output_of_failed_tests(self):
        lines, _ = self.lines_of(self.build("a", ["OK", "FAIL"], 1))
        self.assertEqual(lines[:-1], ["failed: t1 (FAIL)", "    first", "    why 1"])

    def test_directory_without_setup(self):
        lines, status = self.lines_of(self.build("a", ["OK"]), "--", "never", "--setup=x")
        self.assertEqual((lines, status), (["skipped: all tests of never (it is not set up)",
                                            "1 passed, 0 failed, 1 skipped"], 0))
        self.assertEqual(self.runner("never"), ("0 passed, 0 failed, 1 skipped", 1))

    def test_known_limits(self):
        self.assertEqual(self.runner(self.build("a", ["OK", "EXPECTEDFAIL"])),
                         ("1 passed, 0 failed, 1 skipped", 0))

    def test_other_results_are_failures(self):
        for bad in ("FAIL", "TIMEOUT", "ERROR", "UNEXPECTEDPASS", "INTERRUPT"):
            self.assertEqual(self.runner(self.build(bad, ["OK", bad], 1)),
                             ("1 passed, 1 failed, 0 skipped", 1))

    def test_sum_of_directories(self):
        a, b = self.build("a", ["OK", "FAIL"], 1), self.build("b", ["OK", "SKIP"])
        self.assertEqual(self.runner(a, "--setup=x", "--", b), ("2 passed, 1 failed, 1 skipped", 1))

    def test_directories_are_tested_side_by_side(self):
        """Each waits for the other one, which is begun one test at a time, and prints behind it."""
        write(self.top.name, "bin/meson", """#!/bin/sh
touch "$3/begun"
for i in $(seq 100); do
    test -e "$3/../a/begun" && test -e "$3/../b/begun" && break
    test "$i" != 100 || exit 9
    sleep 0.1
done
cp "$3/results" "$3/meson-logs/counted.json"
echo "$(basename "$3"): ${MESON_TESTTHREADS#[02-9]}"
""")
        a, b = self.build("a", ["OK"]), self.build("b", ["OK"])
        lines, status = self.lines_of(a, "--", b)
        self.assertEqual((lines, status), (["a: ", "b: 1", "2 passed, 0 failed, 0 skipped"], 0))

    def test_meson_failure_without_results(self):
        self.assertEqual(self.runner(self.build("a", None, 2)), ("0 passed, 1 failed, 0 skipped", 1))
        self.assertEqual(self.runner(self.build("b", ["OK"], 2)), ("1 passed, 1 failed, 0 skipped", 1))

    def test_empty_run_fails(self):
        self.assertEqual(self.runner(self.build("a", [])), ("0 passed, 1 failed, 0 skipped", 1))

    def test_time_of_each_directory(self):
        a, b = self.build("a", ["OK", "FAIL"], 1), self.build("b", ["OK"])
        path = os.path.join(self.top.name, "bin") + ":" + os.environ["PATH"]
        printed = run(tool("run-tests"), a, "--", b, env={**os.environ, "PATH": path}).stdout
        self.assertRegex(printed, r"(?m)^\S*/a: 2 tests in 0:\d\d minutes$")
        self.assertRegex(printed, r"(?m)^\S*/b: 1 tests in 0:\d\d minutes$")

    def test_results_of_an_earlier_run(self):
        directory = self.build("a", None, 1)
        write(directory, "meson-logs/counted.json", json.dumps({"name": "old", "result": "OK"}))
        self.assertEqual(self.runner(directory), ("0 passed, 1 failed, 0 skipped", 1))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""follow.py NAPS.C COMPILER...: replay and report show a recording while it goes on."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

SPOOR, SOURCE, COMPILER = os.environ["SPOOR"], sys.argv[1], sys.argv[2:]
ROUNDS = 60  # of each of two threads


class Follow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program, cls.trace = os.path.join(folder.name, "naps"), os.path.join(folder.name, "trace")
        subprocess.run([*COMPILER, "-O1", "-pthread", SOURCE, "-o", cls.program], check=True)

    def record(self, *options):
        """Begins a recording; returns its process when there is something to see."""
        if os.path.exists(self.trace):
            os.unlink(self.trace)
        recorder = subprocess.Popen([SPOOR, "record", "-q", "-o", self.trace, *options, "--", self.program])
        self.addCleanup(recorder.kill)
        while not os.path.exists(self.trace + ".part"):
            self.assertIsNone(recorder.poll())
        return recorder

    def follow(self, *words, options=()):
        """(what `spoor WORDS --follow` prints, whether some of it came while the program ran)."""
        recorder = self.record(*options)
        first, rest, status, errors = self.watch(words, lambda: recorder.poll() is None)
        self.assertEqual((status, errors, recorder.wait()), (0, "", 0))
        return first + rest, self.early

    def watch(self, words, on_first_line):
        """(first line, further lines, status, errors) of `spoor WORDS --follow`."""
        with tempfile.TemporaryFile("w+") as errors:
            with subprocess.Popen([SPOOR, *words, "--follow", self.trace], stdout=subprocess.PIPE, stderr=errors,
                                  text=True) as view:
                first = view.stdout.readline()
                self.early = on_first_line()
                rest = view.stdout.read()
            errors.seek(0)
            return first, rest, view.returncode, errors.read()

    def test_lines_of_replay(self):
        shown, early = self.follow("replay", "--json")
        whole = subprocess.run([SPOOR, "replay", "--json", self.trace], stdout=subprocess.PIPE, text=True, check=True)
        keys = ("tid", "depth", "kind", "function")
        lines, expected = ([[line[key] for key in keys] for line in map(json.loads, text.splitlines())]
                           for text in (shown, whole.stdout))
        self.assertTrue(early)
        self.assertEqual(lines, expected)

    def test_text_of_replay(self):
        shown, early = self.follow("replay")
        self.assertTrue(early)
        self.assertEqual(shown.count("# DURATION"), 1)
        self.assertEqual(len(re.findall(r"\| +work\(\) \{\n", shown)), 2 * ROUNDS)
        self.assertEqual(len(re.findall(r"\| +\} /\* work \*/\n", shown)), 2 * ROUNDS)
        self.assertEqual(len(re.findall(r"\| +leaf\(\);\n", shown)), 4 * ROUNDS)
        opened, closed = (len(re.findall(form, shown)) for form in (r"nap\(\) \{\n", r"\} /\* nap \*/\n"))
        self.assertEqual(opened, closed)  # one that was open at the end of a part has two lines
        self.assertEqual(len(re.findall(r"nap\(\);\n", shown)) + closed, 2 * ROUNDS)

    def test_long_calls_of_replay(self):
        shown, _ = self.follow("replay", "--json", "-t", "100ms", "-F", "nap")
        kinds = [line["kind"] for line in map(json.loads, shown.splitlines()) if line["function"] == "nap"]
        long_naps = sum((i + first) % 7 == 0 for i in range(ROUNDS) for first in (0, 3))
        self.assertEqual(kinds.count("entry"), kinds.count("exit"))
        self.assertGreaterEqual(kinds.count("entry"), long_naps)  # others may last as long on a busy machine

    def test_long_calls_of_the_recording(self):
        """main() has no callee that is as long. Its entry must not be written too late to be shown."""
        shown, early = self.follow("replay", "--json", options=("-t", "500ms"))
        whole = subprocess.run([SPOOR, "replay", "--json", self.trace], stdout=subprocess.PIPE, text=True, check=True)
        lines, expected = (sorted((line["kind"], line["function"]) for line in map(json.loads, text.splitlines()))
                           for text in (shown, whole.stdout))
        self.assertTrue(early)
        self.assertEqual(lines, expected)
        self.assertIn(("entry", "main"), lines)

    def test_tables_of_report(self):
        shown, early = self.follow("report", "--columns=calls,function")
        tables = [re.search(r"(?m)^ *(\d+)  leaf$", table) for table in shown.split("CALLS")[1:]]
        calls = [int(found[1]) for found in tables if found]
        self.assertTrue(early)
        self.assertGreater(len(calls), 1)
        self.assertEqual(calls, sorted(calls))
        self.assertEqual(calls[-1], 4 * ROUNDS)

    def test_recorder_killed(self):
        recorder = self.record()
        _, rest, status, errors = self.watch(["replay"], lambda: recorder.send_signal(signal.SIGKILL))
        os.unlink(self.trace + ".part")
        self.assertEqual(status, 0)
        self.assertRegex(errors, r"^spoor: .*trace\.part: is incomplete")
        self.assertIn("the recording did not end", rest)

    def test_no_trace(self):
        done = subprocess.run([SPOOR, "replay", "--follow", self.trace + ".none"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""test/guest/scripts.py: the result of a part if scripts fail or cannot run, with a fake guest; how often scripts do
something again there."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest

from support import SOURCE, write

sys.path.insert(0, os.path.join(SOURCE, "test", "guest"))

import scripts  # noqa: E402
from harness import Failure  # noqa: E402


class Guest:
    """A fake guest. OUTCOMES: (status, output) of each script."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def boot(self):
        for number, (status, out) in enumerate(self.outcomes):
            for what, text in (("status", str(status)), ("time", "1 2"), ("out", out), ("err", "")):
                write(".", f"results/{number:03}/step.{what}", text)
        return ""


def run(*outcomes):
    """Returns the status, and the last line on standard output."""
    given = types.SimpleNamespace(scripts=[scripts.Script("inside", [f"{i}.py"]) for i in range(len(outcomes))])
    out, status, before = io.StringIO(), 0, os.getcwd()
    with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(out):
        os.chdir(directory)
        try:
            scripts.test(given, Guest(outcomes))
        except SystemExit as end:
            status = end.code
        finally:
            os.chdir(before)
    return status, out.getvalue().splitlines()[-1]


class Parts(unittest.TestCase):
    def test_all_passed(self):
        self.assertEqual(run((0, "one\n"), (0, "two\n"))[0], 0)

    def test_skipped_part(self):
        self.assertEqual(run((0, "one\n"), (77, "so\nno gdb\n"), (0, "")),
                         (scripts.SKIP, "1 of 3 cannot run in the guest: 1.py: no gdb"))

    def test_failed_part(self):
        with self.assertRaisesRegex(Failure, "failed: 1.py"):
            run((77, "no gdb\n"), (1, ""), (0, ""))


class Rounds(unittest.TestCase):
    CODE = "import harness; print(harness.rounds(40), harness.rounds(9, 4), harness.rounds(1))"

    def printed(self, *assignments):
        command = ["env", *assignments, sys.executable, "-c", self.CODE]
        return subprocess.run(command, cwd=os.path.dirname(scripts.SHARED), text=True, capture_output=True, check=True).stdout

    def test_rounds_here(self):
        self.assertEqual(self.printed(), "40 9 1\n")

    def test_fewer_rounds_in_a_guest(self):
        words = scripts.Script("inside", ["a.py"]).command()
        self.assertEqual(self.printed(*(word for word in words if "=" in word)), "10 4 1\n")


if __name__ == "__main__":
    unittest.main()

"""Wrong command lines: one line on standard error, the right status, an empty standard output."""
import subprocess
import unittest

from support import SPOOR, run

VIEWS = ("replay", "report", "graph", "info", "export")


class Usage(unittest.TestCase):
    def refused(self, status, line, *words):
        result = run(SPOOR, *words)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr, f"spoor: {line}\n")
        self.assertEqual(result.returncode, status)

    def test_unknown_command(self):
        self.refused(2, "reprot: unknown command (did you mean 'report'?): try 'spoor --help'", "reprot")
        self.refused(2, "frobnicate: unknown command: try 'spoor --help'", "frobnicate")

    def test_unknown_option(self):
        self.refused(2, "report: unknown option '--jsn' (did you mean '--json'?):"
                     " try 'spoor report --help'", "report", "--jsn")

    def test_status_125_of_record(self):
        self.refused(125, "record: unknown option '--ouput' (did you mean '--output'?):"
                     " try 'spoor record --help'", "record", "--ouput=x", "--", "true")
        self.refused(125, "record: an operand is missing (PROGRAM): try 'spoor record --help'",
                     "record")
        self.refused(125, "record: option '--buffer': '3T' is not a size up to 1G, like 64K:"
                     " try 'spoor record --help'", "record", "--buffer", "3T", "true")
        self.refused(125, "record: option '--memory': '1000K' is not a size from 1M on, like 2G:"
                     " try 'spoor record --help'", "record", "--memory=1000K", "true")

    def test_count_of_operands(self):
        for view in VIEWS:
            result = run(SPOOR, view, "a", "b", "c")
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr,
                             f"spoor: {view}: too many operands: try 'spoor {view} --help'\n")
        self.refused(2, "explain: an operand is missing (BINARY|PID): try 'spoor explain --help'",
                     "explain")

    def test_operands_of_attach(self):
        self.refused(2, "attach: no process: give its PID", "attach")
        self.refused(2, "x: is not a process id: 'ps' and 'pgrep' show them", "attach", "x")
        self.refused(2, "y: is not a process id: 'ps' and 'pgrep' show them", "attach", "-p", "1,y", "2")

    def test_operands_of_ctl(self):
        self.refused(2, "ctl: an operand is missing (PID): try 'spoor ctl --help'", "ctl")
        self.refused(2, "ctl: no command: give pause, resume, filter, snapshot, status or stop", "ctl", "1")
        self.refused(2, "x: is not a process id: give that of the recorded program", "ctl", "x", "pause")
        self.refused(2, "ctl: halt: is not a command: give pause, resume, filter, snapshot, status or stop",
                     "ctl", "1", "halt")
        self.refused(2, "ctl: pause: takes no options: -F, -N and -M go with 'filter'", "ctl", "1", "pause",
                     "-F", "f")

    def test_operands_of_detach(self):
        self.refused(2, "detach: an operand is missing (PID): try 'spoor detach --help'", "detach")
        self.refused(2, "x: is not a process id: 'ps' and 'pgrep' show them", "detach", "x")

    def test_control_characters(self):
        self.refused(2, "a?b?[31m: unknown command: try 'spoor --help'", "a\nb\x1b[31m")

    def test_help(self):
        for words in (["--help"], ["-h"], ["help"], ["help", "record"], ["record", "--help"],
                      ["report", "-h"], ["record", "--help", "--nonsense"]):
            result = run(SPOOR, *words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertTrue(result.stdout.startswith("usage: spoor "), words)

    def test_help_without_a_command(self):
        result = run(SPOOR)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertTrue(result.stderr.startswith("usage: spoor "))

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([SPOOR, "--help"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "spoor: standard output: No space left on device\n")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The output of `spoor explain` for code of known shapes (shapes.S)."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

SPOOR, SOURCE, CC = os.environ["SPOOR"], sys.argv[1], sys.argv[2:]

NARROW = """\
narrow: shapes, at 40102f, 13 bytes
              entry: hop to 401021
|     40102f  [53]                   push %rbx
|     401030  [89]fb                 mov %edi, %ebx
      401032   e8 d9 ff ff ff        call 0x401010
|     401037  [48 01 d8]             add %rbx, %rax
|     40103a  [5b]                   pop %rbx
              return: jump
|     40103b  [c3]                   ret
"""

ROOMY = """\
roomy: shapes, at 401010, 12 bytes
              entry: jump
|     401010  [48 89 f8]             mov %rdi, %rax
|     401013  [48 83]c0 01           add $0x1, %rax
|     401017   48 0f af c6           imul %rsi, %rax
              return: jump
|     40101b   c3                    ret
              hole at 40101c: of the hop at 401051
      40101c  [cc]                   int3
"""


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def run_on_terminal(columns, *command):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "PAGER": "cat"}
    environment.pop("NO_COLOR", None)
    child = subprocess.Popen(command, stdin=slave, stdout=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the terminal's other end is closed
            break
        if not piece:
            break
        text += piece
    os.close(master)
    child.wait()
    return text.decode().replace("\r\n", "\n")


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.program = os.path.join(cls.directory.name, "shapes")
        subprocess.run([*CC, "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none",
                        "-Wl,-Ttext=0x401000", "-o", cls.program, SOURCE], check=True)

    def explain(self, *options):
        return run(SPOOR, "explain", *options, self.program)

    def test_drawing_of_a_few_functions(self):
        self.assertIn(NARROW, self.explain("-F", "narrow"))
        self.assertIn(ROOMY, self.explain("-F", "roomy"))
        self.assertRegex(self.explain("-F", "looping"),
                         r"tail: jump\n\| +401043  \[74 cb\] +jz 0x401010\n")
        text = self.explain("-F", "first_call")
        self.assertRegex(text, r"return: pun\n\| +40104d  \[c3\] ")
        self.assertIn("its target is chosen when the file is loaded", text)

    def test_drawing_of_refused_functions(self):
        text = self.explain("-F", "loopin?")
        self.assertRegex(text, r"entry: none, branch-into-window\n +40103c   90 +nop\n")
        self.assertIn("\n  branch-into-window      A branch leads into the middle", text)

    def test_drawing_of_a_trap(self):
        text = self.explain("-F", "looping")
        self.assertRegex(text, r"entry: trap\n\| +40103c  \[90\] +nop\n +40103d ")
        self.assertIn("Each hit stops its thread", text)
        self.assertEqual(json.loads(self.explain("--json", "-F", "looping"))[0]["entry"], "trap")
        for pattern in "looping*", "/looping/", "*":
            functions = {f["function"]: f for f in json.loads(self.explain("--json", "-F", pattern))}
            self.assertEqual(functions["looping"]["refused"], "branch-into-window")

    def test_one_tier_alone(self):
        for tier in "jump", "hop", "pun", "trap":
            functions = json.loads(self.explain("--json", "--tier", tier))
            seen = {f["entry"] for f in functions} | {t for f in functions for t in f["exits"]
                                                      if f["exits"][t]}
            self.assertEqual(seen - {"none"}, {tier})

    def test_patterns_without_a_function(self):
        done = subprocess.run([SPOOR, "explain", "-F", "loping", self.program], capture_output=True, check=True, text=True)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr,
                         f"spoor: {self.program}: no function is left by -F loping: did you mean looping?\n")

    def test_hint_about_traps(self):
        self.assertIn("1 of the refused functions can be traced by a trap", self.explain())
        self.assertNotIn("by a trap", self.explain("-F", "looping"))

    def test_drawing_of_a_moved_call(self):
        self.assertRegex(self.explain("-F", "first_call"),
                         r"entry: jump\n\| +401048  \[e8 c3 ff ff ff\] +call 0x401010\n")

    def test_table_of_tiers_and_reasons(self):
        text = self.explain()
        self.assertTrue(text.startswith("shapes: 6 functions, 4 can be traced (66.67 %), 4 with"), text)
        for line in (r"jump +2 +33\.33 +\d+ ", r"hop +2 +33\.33 +\d+ ", r"pun +0 +0\.00 +1 ",
                     r"none +2 +33\.33 +0 ", r"branch-into-window +1 +0 ", r"falls-through +1 +0 "):
            self.assertRegex(text, rf"(?m)^  {line}")
        self.assertNotIn("narrow", text)

    def test_list_of_names(self):
        self.assertEqual(len(re.findall(r"(?m)^ +4010[0-9a-f]{2} +\d+ ", self.explain("-v"))), 6)
        self.assertIn("      40102f       13  hop      1 exit              narrow\n",
                      self.explain("-F", "*"))

    def test_json_of_functions_and_inferred_exits(self):
        functions = {f["function"]: f for f in json.loads(self.explain("--json"))}
        self.assertEqual(len(functions), 6)
        narrow = functions["narrow"]
        self.assertEqual((narrow["module"], narrow["address"], narrow["size"]),
                         ("shapes", 0x40102f, 13))
        self.assertEqual((narrow["entry"], narrow["exits"], narrow["exact"], narrow["refused"]),
                         ("hop", {"jump": 1, "none": 0}, True, None))
        self.assertEqual((functions["falling"]["entry"], functions["falling"]["refused"]),
                         ("none", "falls-through"))
        for f in functions.values():
            self.assertEqual(len(f["inferred"]), f["exits"]["none"])

    def test_terminal_width_and_colour(self):
        for columns in (80, 200):
            for options in ([], ["-F", "narrow"], ["-F", "falling"]):
                text = run_on_terminal(columns, SPOOR, "explain", *options, self.program)
                self.assertIn("\033[", text)
                for line in re.sub(r"\033\[\d*m", "", text).splitlines():
                    self.assertLessEqual(len(line), columns, line)
        self.assertNotIn("\033[", self.explain("-F", "narrow"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

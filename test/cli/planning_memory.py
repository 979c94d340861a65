#!/usr/bin/env python3
"""Two large libraries are not planned at the same time: that would take twice the memory."""
import os
import subprocess
import sys
import tempfile
import unittest

SPOOR, CC = os.environ["SPOOR"], sys.argv[1:]
# One function with much code, which is decoded.
LIBRARY = """
    .globl NAME
    .type NAME,@function
NAME:
    ret
    .fill 24 << 20, 1, 0x90
    ret
    .size NAME, .-NAME
    .section .note.GNU-stack,"",@progbits
"""


def peak_kb(command):
    """The most memory that COMMAND's process has had."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
    assert status == 0, f"{command} ended with {status}"
    return usage.ru_maxrss


class PlanningMemory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compile(self, language, source, output, *options):
        path = os.path.join(self.folder, output)
        subprocess.run([*CC, "-x", language, "-", "-x", "none", *options, "-o", path], input=source, text=True,
                       check=True)
        return path

    def peak_with(self, *names):
        libraries = [self.compile("assembler", LIBRARY.replace("NAME", name), f"lib{name}.so", "-shared")
                     for name in names]
        declared = "".join(f"void {name}(void);" for name in names)
        called = "".join(f"{name}();" for name in names)
        program = self.compile("c", declared + "int main(void) {" + called + "}", "-".join(names), *libraries,
                               f"-Wl,-rpath,{self.folder}")
        trace = os.path.join(self.folder, "trace")
        return peak_kb([SPOOR, "record", "-q", "--no-cache", "-M", "lib*", "-o", trace, "--", program])

    def test_one_after_the_other(self):
        one, two = self.peak_with("first"), self.peak_with("second", "third")
        print(f"one library: {one} KB, two: {two} KB")
        self.assertLess(two, one * 1.4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""tools/lint: the check that sources compile."""
import json
import os
import tempfile
import unittest

from support import run, tool, write


class Syntax(unittest.TestCase):
    def check(self, text):
        with tempfile.TemporaryDirectory() as directory:
            write(directory, "a.c", text)
            command = "cc -Wall -Werror -MD -MQ a.o -MF missing/a.o.d -o missing/a.o -c a.c"
            write(directory, "compile_commands.json",
                  json.dumps([{"directory": directory, "command": command, "file": "a.c"}]))
            result = run(tool("lint"), "syntax", directory)
            self.assertEqual(sorted(os.listdir(directory)), ["a.c", "compile_commands.json"])
            return result

    def test_files_that_compile(self):
        self.assertEqual(self.check("int f(void) { return 1; }\n").returncode, 0)

    def test_error(self):
        result = self.check("int f(void) { return x; }\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("a.c:1:", result.stdout + result.stderr)

    def test_warning_that_is_an_error(self):
        self.assertNotEqual(self.check("int f(long x) { return __builtin_printf(\"%d\", x); }\n").returncode, 0)

    def test_no_such_build(self):
        self.assertEqual(run(tool("lint"), "syntax", "/nonexistent").returncode, 77)


if __name__ == "__main__":
    unittest.main()

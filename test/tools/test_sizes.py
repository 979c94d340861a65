"""tools/check-sizes: which files and functions it accepts."""
import tempfile
import unittest

from support import run, tool, write


def function(lines, head="static int f(int a)"):
    return head + " {\n" + "    a++;\n" * (lines - 2) + "}\n"


class Sizes(unittest.TestCase):
    def check(self, text, name="a.c"):
        with tempfile.TemporaryDirectory() as directory:
            return run(tool("check-sizes"), write(directory, name, text))

    def passes(self, text, name="a.c"):
        result = self.check(text, name)
        self.assertEqual(result.returncode, 0, result.stdout)

    def fails(self, text, why, name="a.c"):
        result = self.check(text, name)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(why, result.stdout)

    def test_function_of_60_lines(self):
        self.passes(function(60))
        self.fails("\n\n" + function(61), "a.c:3: f has 61 lines")

    def test_lines_of_a_function_head(self):
        self.fails(function(60, "static int f(int a,\n             int b)"), "f has 61 lines")

    def test_several_functions(self):
        self.passes(function(40) + "\nint x;\n\n" + function(40))
        self.fails(function(10) + function(70, "struct s *g(void)"), "g has 70 lines")

    def test_tables_and_types(self):
        self.passes("static const int table[] = {\n" + "    1,\n" * 80 + "};\n")
        self.passes("struct s {\n" + "    int (*f)(int, int, int, int, int, int);\n" * 80 + "};\n")

    def test_five_and_six_parameters(self):
        self.passes("int f(int a, int b, int c, int d, int (*e)(int, int)) { return a; }\n")
        self.fails("int f(int a, int b, int c, int d, int e, int g) { return a; }\n",
                   "f has 6 parameters")
        self.fails("int f(int a, int b, int c,\n      int d, int e, int g) {\n}\n",
                   "f has 6 parameters")

    def test_odd_test_programs(self):
        wide = "int f(int a, int b, int c, int d, int e, int g) { return a; }\n"
        self.passes(wide, "fixtures/a.c")
        self.passes(wide, "workload.c")
        self.fails(wide, "6 parameters", "fixtures.c")
        self.fails("\n" * 601, "601 lines", "programs/a.c")

    def test_file_of_600_lines(self):
        self.passes("\n" * 600)
        self.fails("\n" * 601, "601 lines")
        self.fails("\n" * 601, "601 lines", "a.py")


if __name__ == "__main__":
    unittest.main()

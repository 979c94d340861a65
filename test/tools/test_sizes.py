"""tools/check-sizes: what it lets pass and what not."""
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

    def test_a_function_may_have_60_lines(self):
        self.passes(function(60))
        self.fails("\n\n" + function(61), "a.c:3: f has 61 lines")

    def test_a_head_counts_with_all_its_lines(self):
        self.fails(function(60, "static int f(int a,\n             int b)"), "f has 61 lines")

    def test_each_of_several_functions_counts_alone(self):
        self.passes(function(40) + "\nint x;\n\n" + function(40))
        self.fails(function(10) + function(70, "struct s *g(void)"), "g has 70 lines")

    def test_tables_and_types_are_no_functions(self):
        self.passes("static const int table[] = {\n" + "    1,\n" * 80 + "};\n")
        self.passes("struct s {\n" + "    int (*f)(int, int, int, int, int, int);\n" * 80 + "};\n")

    def test_five_parameters_pass_and_six_do_not(self):
        self.passes("int f(int a, int b, int c, int d, int (*e)(int, int)) { return a; }\n")
        self.fails("int f(int a, int b, int c, int d, int e, int g) { return a; }\n",
                   "f has 6 parameters")
        self.fails("int f(int a, int b, int c,\n      int d, int e, int g) {\n}\n",
                   "f has 6 parameters")

    def test_programs_to_be_traced_may_be_odd(self):
        wide = "int f(int a, int b, int c, int d, int e, int g) { return a; }\n"
        self.passes(wide, "fixtures/a.c")
        self.passes(wide, "workload.c")
        self.fails(wide, "6 parameters", "fixtures.c")
        self.fails("\n" * 601, "601 lines", "programs/a.c")

    def test_a_file_may_have_600_lines(self):
        self.passes("\n" * 600)
        self.fails("\n" * 601, "601 lines")
        self.fails("\n" * 601, "601 lines", "a.py")


if __name__ == "__main__":
    unittest.main()

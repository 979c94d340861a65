"""tools/check-words: what each rule accepts, and that exceptions only shrink."""
import os
import tempfile
import unittest

from support import read, run, tool, write

LONG = "a_name_of_fifty_characters_that_is_just_not_longer"


class Words(unittest.TestCase):
    def check(self, path, text, exceptions="", *options):
        with tempfile.TemporaryDirectory() as directory:
            write(directory, "tools/words.txt", "# words\nwhoever  the thread\nrests    syscall_resume\n")
            kept = write(directory, "tools/words-exceptions.txt", "# head\n" + exceptions)
            write(directory, path, text)
            result = run(tool("check-words"), *options, directory)
            self.kept = read(kept)
            return result

    def passes(self, path, text, exceptions=""):
        result = self.check(path, text, exceptions)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def fails(self, path, text, why, exceptions=""):
        result = self.check(path, text, exceptions)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn(why, result.stdout)

    def test_width_of_documents(self):
        for path in ("README.md", "doc/a.md", "man/record.in", "man/a.3"):
            self.passes(path, "é" * 100 + "\n")
            self.fails(path, "\n" + "x" * 101 + "\n", f"{path}:2: 101 columns, more than 100")
        self.passes("src/a.c", "/* " + "x" * 101 + " */\n")
        self.passes("build-arm/a.md", "x" * 101)

    def test_length_of_sentences(self):
        words = "a " * 24
        for path, head, foot in (("doc/a.md", "", ""), ("man/record.in", "", ""), ("src/a.h", "/* ", " */"),
                                 ("backtrace/a.S", "/*\n * ", "\n */")):
            self.passes(path, f"{head}{words}last. One;\n{words}last{foot}\n")
            self.fails(path, f"{head}{words}\nlast one.{foot}\n", "26 words, more than 25: a a")
        self.fails("doc/a.md", f"Text.\n\n{words}last one\n", "doc/a.md:3: 26 words")
        self.passes("test/a.c", f"/* {words}last one */\n")
        self.passes("src/a.c", f'char *s = "{words}last one";\n')

    def test_parts_of_text_that_are_no_sentence(self):
        words = "a " * 20
        self.passes("doc/a.md", f"- {words}\n- {words}\n\n{words}\n\n| {words} | {words} |\n")
        self.passes("doc/a.md", f"{words}\n```\n{words}\n```\n{words}\n")
        self.passes("doc/a.md", f"{words}`{words}`\n")
        self.passes("man/a.in", f"{words}\n.PP\n{words}\n.nf\n{words}{words}\n.fi\n.TP\n{words}\n{words}\n")
        self.fails("man/a.in", f"{words}\n.BR {words}\n", "40 words")
        self.passes("src/a.c", f"/*\n * {words}\n *\n * - {words}\n *     {words}{words}\n * a   {words}{words}\n */\n")

    def test_length_of_test_names(self):
        self.assertEqual(len(LONG), 50)
        self.passes("test/unit/test_a.c", f"static void {LONG}(void **state) {{\n")
        self.fails("test/unit/test_a.c", f"static void {LONG}s(void **state) {{\n",
                   f"test_a.c:1: '{LONG}s' has 51 characters, more than 50")
        self.passes("test/unit/test_a.c", f"static void {LONG}s(int x) {{\n")

    def test_length_of_test_titles(self):
        title = LONG.replace("_", " ")
        self.passes("test/unit/meson.build", f"test('{title}', e)\n")
        self.fails("test/unit/meson.build", f"test('{title}s', e)\n", "has 51 characters")
        self.passes("test/unit/meson.build", f"e = ['-{LONG}s']\n# '{title}s'\n")

    def test_words_in_identifiers(self):
        self.fails("src/a.h", "int x;\nint rests_go_on(void);\n",
                   "src/a.h:2: 'rests_go_on' holds 'rests': write syscall_resume")
        self.fails("src/a.h", "enum { RESTS_MADE };\n", "'RESTS_MADE' holds 'rests'")
        self.fails("test/a.c", "int of_whoever;\n", "'of_whoever' holds 'whoever'")
        self.passes("src/a.c", "int forests, interests_2;\n")
        self.passes("tools/a.c", "int rests;\n")

    def test_words_in_comments_and_strings(self):
        self.passes("src/a.c", "/* It rests\n on x. */ char *s = \"rests\"; // rests\n")
        self.fails("src/a.c", "/* a\nb */ int rests;\n", "src/a.c:2:")

    def test_words_in_test_titles(self):
        self.fails("test/meson.build", "test('whoever waits goes on', e)\n", "holds 'whoever'")

    def test_exceptions_hold_exactly(self):
        text = "int rests;\nint rests_on;\n"
        self.passes("src/a.c", text, "word src/a.c 2\n")
        self.fails("src/a.c", text, "2 violations of 'word', 1 allowed", "word src/a.c 1\n")
        self.fails("src/a.c", text, "2 violations of 'word', 3 allowed: lower it", "word src/a.c 3\n")
        self.fails("src/a.c", "", "src/b.c: 0 violations of 'word', 1 allowed: lower it",
                   "word src/b.c 1\n")
        self.fails("src/a.c", text, "src/a.c: 2 violations of 'word', 0 allowed", "name src/a.c 2\n")

    def test_lower_writes_smaller_numbers_only(self):
        result = self.check("src/a.c", "int rests;\n", "word src/old.c 2\n", "--lower")
        self.assertEqual((result.returncode, self.kept), (0, "# head\nword src/a.c 1\n"))
        result = self.check("src/a.c", "int rests;\n", "name src/a.c 9\n", "--lower")
        self.assertEqual((result.returncode, self.kept), (1, "# head\nname src/a.c 9\n"))

    def test_the_word_list_is_well_formed(self):
        for line in read(os.path.join(os.path.dirname(tool("x")), "words.txt")).splitlines():
            if line and not line.startswith("#"):
                self.assertRegex(line, r"^[a-z_]+ +\S.*$")


if __name__ == "__main__":
    unittest.main()

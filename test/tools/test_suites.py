"""The suites of tests: each test is in exactly one of fast, check and long. "make check" runs each variant of
test/trace's programs."""
import json
import os
import re
import unittest

from support import BUILD, run

WHEN = {"fast", "check", "long"}
# Only programs of the suite long are built in these variants.
ONLY_LONG = {"gcc-tsan", "gcc-tsannopie", "clang-tsan"}


def described():
    result = run("meson", "introspect", "--tests", BUILD)
    return {test["name"]: {suite.split(":")[-1] for suite in test["suite"]} for test in json.loads(result.stdout)}


class Suites(unittest.TestCase):
    def setUp(self):
        self.tests = described()

    def test_one_suite_per_test(self):
        self.assertEqual([name for name, suites in self.tests.items() if len(suites & WHEN) != 1], [])

    def test_kind_of_each_test(self):
        self.assertEqual([name for name, suites in self.tests.items() if not suites - WHEN - {"spoor"}], [])

    def trace_tests(self):
        """(title, variant, suites) of each test of test/trace."""
        for name, suites in self.tests.items():
            found = re.fullmatch(r"(.*) \((?:\w+-)?((?:gcc|clang|musl)(?:-[\w-]+)?)\)", name)
            if "trace" in suites and found:
                yield found[1], found[2], suites

    @unittest.skipUnless(os.path.exists("/usr/bin/clang") and os.path.exists("/usr/bin/musl-gcc"), "a compiler is missing")
    def test_builds_of_make_check(self):
        ways = {way for _, way, _ in self.trace_tests()}
        self.assertGreater(len(ways), 50)
        self.assertEqual(ways - {way for _, way, suites in self.trace_tests() if "long" not in suites}, ONLY_LONG)

    def test_programs_of_make_check_fast(self):
        titles = {title for title, _, _ in self.trace_tests()}
        self.assertEqual(titles - {title for title, _, suites in self.trace_tests() if "fast" in suites}, set())


if __name__ == "__main__":
    unittest.main()

"""tools/check-layers: which includes it accepts; and the documents that list the rooms."""
import os
import re
import tempfile
import unittest

from support import SOURCE, read, run, tool, write


def rooms():
    source = os.path.join(SOURCE, "src")
    return {name for name in os.listdir(source) if os.path.isdir(os.path.join(source, name))}


def section(name):
    """The part of doc/ARCHITECTURE.md below the heading NAME."""
    return read(os.path.join(SOURCE, "doc/ARCHITECTURE.md")).split(f"\n## {name}\n")[1].split("\n## ")[0]


class Layers(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as source:
            for path, text in files.items():
                write(source, path, text)
            return run(tool("check-layers"), source)

    def test_layers_of_the_source(self):
        result = run(tool("check-layers"), os.path.join(SOURCE, "src"))
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_rooms_in_documents(self):
        readme = read(os.path.join(SOURCE, "README.md"))
        self.assertEqual(set(re.findall(r"(?m)^\| `src/(\w+)` \|", readme)), rooms())
        drawing, table = section("Rooms").split("```")[1:]
        self.assertEqual(set(re.findall(r"(?m)^\| `(\w+)` \|", table)), rooms())
        self.assertEqual(rooms() - set(re.findall(r"\w+", drawing)), set())
        figures = set(re.findall(r"(?m)^(\w+)(?:/\w+)? +\d+ +\d+ +\d+$", section("Structure in figures")))
        self.assertEqual(figures, rooms())

    def test_allowed_includes(self):
        result = self.check({"elf/a.c": '#include "base/err.h"\n#include "elf/b.h"\n#include <stdio.h>\n',
                             "arch/x/y.c": '#include "wire/ring.h"\n#include "made.inc"\n'})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_include_of_a_layer_above(self):
        result = self.check({"base/deep/a.c": '\n#include <stdio.h>\n#  include "cmd/say.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn("base/deep/a.c:3: base must not include \"cmd/say.h\"", result.stdout)

    def test_ways_around_folder_names(self):
        for include in ('"../cmd/say.h"', '"say.h"', '"./say.h"'):
            self.assertEqual(self.check({"base/a.h": f"#include {include}\n"}).returncode, 1, include)

    def test_rooms_below_a_folder(self):
        allowed = {"plan/depth/a.c": '#include "plan/code/code.h"\n#include "plan/tier.h"\n'}
        self.assertEqual(self.check(allowed).returncode, 0)
        result = self.check({"plan/code/a.c": '#include "plan/depth/depth.h"\n'})
        self.assertEqual(result.returncode, 1)
        self.assertIn('plan/code must not include "plan/depth/depth.h"', result.stdout)
        self.assertEqual(self.check({"cmd/a.c": '#include "plan/code/code.h"\n'}).returncode, 1)

    def test_circles_of_includes(self):
        def circle(size):
            return {f"elf/{i}.h": f'#include "elf/{(i + 1) % size}.h"\n' for i in range(size)}
        self.assertEqual(self.check(circle(3)).returncode, 0)
        result = self.check(circle(4))
        self.assertEqual(result.returncode, 1)
        self.assertIn("elf: 4 files include each other in a circle", result.stdout)
        halves = {"elf/0.h": "", "elf/0.c": '#include "elf/1.h"\n', **{f"elf/{i}.h": f'#include "elf/{(i + 1) % 4}.h"\n'
                                                                    for i in range(1, 4)}}
        self.assertEqual(self.check(halves).returncode, 1, "a .c and a .h of one name are one file")

    def test_unknown_folder(self):
        self.assertEqual(self.check({"misc/a.c": "\n"}).returncode, 1)

    def test_guest_without_c_library(self):
        self.assertEqual(self.check({"agent/a.S": "#include <stdint.h>\n"}).returncode, 0)
        self.assertEqual(self.check({"agent/a.S": "#include <string.h>\n"}).returncode, 1)

    def test_empty_check_fails(self):
        self.assertEqual(self.check({"base/notes.txt": ""}).returncode, 1)


if __name__ == "__main__":
    unittest.main()

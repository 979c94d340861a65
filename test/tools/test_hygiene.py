"""The repository has no paths of a machine, no download hosts, no notes about undone work, no left-over files, and no
dead links."""
import os
import re
import sys
import unittest

from support import SOURCE, read, run

# The patterns are joined from parts, so that this file does not match them.
PLACES = re.compile("|".join(["/wor" + "k/", "/roo" + "t/", "/hom" + "e/[a-z]"]))
HOSTS = re.compile(r"|".join([r"deb\.debian" + r"\.org", r"pypi" + r"\.org", r"npmjs" + r"\.(?:org|com)",
                              r"proxy\.golang" + r"\.org", r"crates" + r"\.io"]))
# Files that builds, editors and crashed programs leave behind.
LEFT_OVER = re.compile(r"(?:^|/)(?:build[^/]*/.*|core(?:\.\d+)?|__pycache__/.*|a\.out|compile_commands\.json|nohup\.out|"
                       r"\.DS_Store|vgcore\.\d+|#.*#|\.#.*|gmon\.out|\d+|"
                       r"[^/]*(?:~|\.(?:pid|core|log|lock|sock|tmp|bak|orig|rej|sw[a-p]|o|a|so|d|gc[dn][ao]|pyc|trace|part)))$")
D_SOURCES = {"test/trace/names/names.d"}  # elsewhere .d are files of dependencies
UNDONE = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def tracked():
    """Text files that git knows; None without git or a repository."""
    try:
        result = run("git", "-c", "safe.directory=*", "-C", SOURCE, "ls-files", "-z")
    except FileNotFoundError:
        return None
    return [name for name in result.stdout.split("\0") if name] if result.returncode == 0 else None


class Hygiene(unittest.TestCase):
    def lines(self):
        for name in tracked():
            path = os.path.join(SOURCE, name)
            if not os.path.isfile(path):
                continue
            with open(path, "rb") as f:
                data = f.read()
            if b"\0" in data[:8192]:
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                yield name, number, line

    def absent(self, pattern):
        found = [f"{name}:{number}: {line.strip()[:80]}" for name, number, line in self.lines()
                 if pattern.search(line)]
        self.assertEqual(found, [])

    def test_paths_of_a_machine(self):
        self.absent(PLACES)

    def test_download_hosts(self):
        self.absent(HOSTS)

    def test_left_over_files(self):
        self.assertEqual([name for name in tracked() if LEFT_OVER.search(name) and name not in D_SOURCES], [])

    def test_notes_of_undone_work(self):
        self.absent(UNDONE)

    def test_patterns_match_examples(self):
        for pattern, text in ((PLACES, "cd /wor" + "k/x"), (HOSTS, "https://pypi" + ".org/"),
                              (UNDONE, "/* TO" + "DO: later */")):
            self.assertTrue(pattern.search(text))
        for name in ("x/y.pid", "core", "a/core.17", "x.log", "a/b.c~", ".a.c.swp", "x.c.orig", "build/spoor",
                     "test/x.o", "build-arm/a", "#a.c#", "tools/__pycache__/a.pyc", "spoor.trace", "0"):
            self.assertTrue(LEFT_OVER.search(name), name)
        for name in ("meson.build", "test/meson.build", "src/core/a.c", "src/elf/core.c", "test/unit/cmd/cases/a.info"):
            self.assertFalse(LEFT_OVER.search(name), name)

    def test_links_between_documents(self):
        for name in tracked():
            if not name.endswith(".md"):
                continue
            path = os.path.join(SOURCE, name)
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", read(path)):
                self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)),
                                f"{name}: {target}")

    def test_files_named_in_documents(self):
        ends = {"/".join(name.split("/")[i:]) for name in tracked() for i in range(name.count("/") + 1)}
        others, cited = {"sys/sdt.h"}, re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:c|h|S|js|py|txt|md))`")
        for name in tracked():
            if name in ("README.md", "CONTRIBUTING.md") or re.match(r"doc/\w+\.md$", name):
                for path in cited.findall(read(os.path.join(SOURCE, name))):
                    self.assertIn(path, ends | others, name)

    def test_tests_named_in_documents(self):
        text = read(os.path.join(SOURCE, "doc", "TESTING.md"))
        named = re.findall(r"`([\w/]+(?:\.\w+)?): ([^`]+)`", text)
        self.assertGreater(len(named), 40)
        for place, name in named:
            if "." not in place:
                place += "/meson.build"
            self.assertIn(name, read(os.path.join(SOURCE, "test", place)), place)


if __name__ == "__main__":
    if tracked() is None:
        sys.exit(77)
    unittest.main()

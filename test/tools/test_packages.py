"""tools/packages.txt is the one list of packages: tools, Makefile, README and debian/control agree with it."""
import os
import re
import unittest

from support import SOURCE, read, run, tool

PURPOSES = ("build", "cross", "package", "demo", "check", "arm", "long", "bench")

BUILD_ESSENTIAL = {"gcc", "libc6-dev", "binutils", "make"}  # debian/control need not name these


def listed(purpose):
    result = run(tool("packages"), "list", purpose)
    return result.stdout.split()


class Packages(unittest.TestCase):
    def test_packages_and_purposes_of_each_line(self):
        lines = [line for line in read(os.path.join(SOURCE, "tools", "packages.txt")).splitlines()
                 if line and not line.startswith("#")]
        names = []
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9][a-z0-9+.-]+ +[a-z,]+$")
            name, purposes = line.split()
            names.append(name)
            self.assertLessEqual(set(purposes.split(",")), set(PURPOSES), line)
        self.assertEqual(len(names), len(set(names)))

    def test_list_of_each_purpose(self):
        for purpose in PURPOSES:
            self.assertTrue(listed(purpose), purpose)
        self.assertEqual(run(tool("packages"), "list", "lunch").returncode, 2)

    def test_build_packages_in_readme(self):
        readme = read(os.path.join(SOURCE, "README.md"))
        quoted = re.findall(r"apt-get install((?:[^\n]*\\\n)*[^\n]*)", readme)
        self.assertEqual([sorted(re.sub(r"\\\n|#.*", " ", names).split()) for names in quoted],
                         [sorted(listed(purpose)) for purpose in ("build", "cross", "package")])

    def test_build_packages_in_debian_control(self):
        control = read(os.path.join(SOURCE, "debian", "control"))
        field = re.search(r"(?m)^Build-Depends:((?:.*\n)(?:[ ].*\n)*)", control)[1]
        names = {re.sub(r"[:(].*", "", name).strip() for name in field.split(",")}
        self.assertEqual(names - {"debhelper-compat"}, set(listed("build")) - BUILD_ESSENTIAL)

    def test_make_installs_listed_packages(self):
        makefile = read(os.path.join(SOURCE, "Makefile"))
        self.assertIn("tools/packages install", makefile)
        for path in ("Makefile", ".ci/run", "tools/demo"):
            self.assertNotIn("apt-get", read(os.path.join(SOURCE, path)), path)
        for target in ("demo", "check", "bench"):
            self.assertRegex(makefile, rf"(?m)^{target}: packages-{target}$")
        for target, purpose in (("arm", "arm"), ("long", "long")):
            self.assertRegex(makefile, rf"(?m)^check-{target}: packages-{purpose}$")


if __name__ == "__main__":
    unittest.main()

"""tools/packages.txt is the one list of packages: tools, Makefile, README and debian/control agree with it."""
import os
import re
import shutil
import tempfile
import unittest

from support import SOURCE, read, run, tool, write

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

    def test_make_without_meson(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("Makefile", "tools"):
                os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
            for name in ("sh", "make", "test", "echo", "awk", "sort", "dirname"):
                os.symlink(shutil.which(name), write(folder, f"bin/{name}", "") + ".link")
                os.rename(os.path.join(folder, "bin", name + ".link"), os.path.join(folder, "bin", name))
            query = write(folder, "bin/dpkg-query", "#!/bin/sh\ncase $4 in meson | libzstd-dev) exit 1 ;; esac\necho installed\n")
            os.chmod(query, 0o755)
            result = run("make", "-C", folder, env={"PATH": os.path.join(folder, "bin")})
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.splitlines()[0],
                         'make: missing packages: libzstd-dev meson; "make demo" installs them')


if __name__ == "__main__":
    unittest.main()

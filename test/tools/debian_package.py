#!/usr/bin/env python3
"""debian_package.py SOURCE: the Debian package of SOURCE's last commit has the program, its manual and the licence."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
WANTED = ["./usr/bin/spoor", "./usr/share/man/man1/spoor.1.gz", "./usr/share/man/man1/spoor-record.1.gz",
          "./usr/share/bash-completion/completions/spoor", "./usr/share/zsh/vendor-completions/_spoor",
          "./usr/share/doc/spoor/copyright", "./usr/share/doc/spoor/ARM.md.gz"]


def contents(source, top):
    tree = os.path.join(top, "spoor")
    os.mkdir(tree)
    archive = subprocess.Popen(["git", "-C", source, "archive", "HEAD"], stdout=subprocess.PIPE)
    subprocess.run(["tar", "x", "-C", tree], stdin=archive.stdout, check=True)
    assert archive.wait() == 0
    subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    package, = (path for path in glob.glob(os.path.join(top, "*.deb")) if "dbgsym" not in path)
    listed = subprocess.run(["dpkg-deb", "--contents", package], stdout=subprocess.PIPE, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines()}


def main(source):
    if not shutil.which("dh") or not os.path.exists(os.path.join(source, ".git")):
        print("debhelper is not installed, or this is not a git checkout")
        return SKIP
    with tempfile.TemporaryDirectory() as top:
        missing = set(WANTED) - contents(source, top)
    print(f"missing: {sorted(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""git: log --stat of a repository with branches and merges, diffs, grep, a repack."""
import os

from real import check, real_program, run, which

GIT = which("git")
SHELL = f"""
set -e
{GIT} log --stat --graph --format='%h %an %ad %s'
{GIT} log --stat -M --follow --oneline docs/renamed.txt
{GIT} diff --stat HEAD~4
{GIT} blame -s src/file3.c | tail -n 5
{GIT} grep -n -e 'line 1[0-9]' -- src | tail -n 5
{GIT} -c pack.threads=2 repack -adq
{GIT} fsck --strict
{GIT} -c pack.threads=1 repack -adfq # with two threads the deltas depend on who is faster
{GIT} rev-parse HEAD
{GIT} status --porcelain
rm .git/index # knows times and inodes
{GIT} show nothing-of-that-name
"""
AUTHOR = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "C",
          "GIT_COMMITTER_EMAIL": "c@example.org", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent",
          "PATH": "/usr/bin:/bin"}


def git(directory, second, *words):
    date = f"{1700000000 + second * 60} +0000"
    done = run([GIT, "-C", directory, "-c", "gc.auto=0", *words],
               env={**AUTHOR, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})
    check(done.status == 0, f"git {' '.join(words)}: {done.stderr.decode()}")


def write(directory, name, lines):
    path = os.path.join(directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as out:
        out.writelines(f"{name} line {n}\n" for n in lines)


def prepare(directory):
    git(directory, 0, "init", "-q", "-b", "main")
    for n in range(12):
        for k in range(4):
            write(directory, f"src/file{k}.c", range(n * (k + 1) + 20))
        write(directory, "docs/text.txt", range(40))
        git(directory, n, "add", "-A")
        git(directory, n, "commit", "-q", "-m", f"change {n}")
        if n == 6:
            git(directory, n, "branch", "side")
    git(directory, 20, "mv", "docs/text.txt", "docs/renamed.txt")
    git(directory, 20, "commit", "-q", "-m", "rename")
    git(directory, 21, "checkout", "-q", "side")
    write(directory, "other/new.txt", range(5))
    git(directory, 22, "add", "-A")
    git(directory, 22, "commit", "-q", "-m", "on the side")
    git(directory, 23, "checkout", "-q", "main")
    git(directory, 24, "merge", "-q", "-m", "merge", "side")


real_program(["/bin/sh", "-c", SHELL], prepare, status=128, processes=10, libcalls=True)

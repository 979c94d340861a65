#!/usr/bin/env python3
"""Names of large programs: cc1 (C++) and rustc (Rust). No line of a report is wider than a terminal of 80 columns, each
row shows a name, and names that were copied from it choose that function.

    large_names.py SPOOR
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "trace"))
from terminal import on_terminal  # noqa: E402

COLUMNS, ROWS, COPIED = 80, 300, 40
LEAST_NAME = 20  # columns: a readable name, if the whole one is not shorter
PROGRAMS = [(["gcc", "-O1", "-S", "-o", "/dev/null", "small.c"], "cc1", []),
            (["rustc", "--version", "--verbose"], "rust", ["-M", "librustc_driver*"])]
SKIP = 77


def check(condition, message):
    if not condition:
        print(f"failed: {message}")
        sys.exit(1)


def rows_of(spoor, *options):
    done = subprocess.run([spoor, "report", "--json", *options, "trace"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    return json.loads(done.stdout) if done.stdout.strip() else []


def check_widths(spoor, what):
    """The names on the terminal, behind the last column of figures."""
    lines = on_terminal(COLUMNS, [spoor, "report", f"--limit={ROWS}", "trace"])
    wide = [line for line in lines if len(line) > COLUMNS]
    check(not wide, f"{what}: wider than {COLUMNS} columns: {wide[:2]}")
    begin = lines[0].index("FUNCTION")
    check(COLUMNS - begin >= LEAST_NAME, f"{what}: names begin at column {begin}")
    names = [line[begin:].strip() for line in lines[1:] if re.match(r" *\d", line) and len(line) > begin]
    check(len(names) >= 100, f"{what}: {len(names)} rows")
    short = [name for name in names if len(name) < 2]
    check(not short, f"{what}: rows without a name: {short[:3]}")


def check_copies(spoor, what):
    rows = [row for row in rows_of(spoor) if "+0x" not in row["function"]]
    check(len(rows) >= COPIED, f"{what}: {len(rows)} functions with names")
    for row in rows[:: len(rows) // COPIED]:
        name = row["function"]
        found = [other["function"] for other in rows_of(spoor, "-F", name)]
        # The library's inline namespace may be left out in patterns.
        plain = {other.replace("__cxx11::", "") for other in found}
        check(name in found and plain == {name.replace("__cxx11::", "")}, f"{what}: -F '{name}' chooses {found[:3]}")


def test(spoor):
    with open("small.c", "w", encoding="ascii") as source:
        source.write("int twice(int n) { return n < 2 ? n : 2 * n; }\n")
    for command, what, options in PROGRAMS:
        if not shutil.which(command[0]):
            continue
        done = subprocess.run([spoor, "record", "-q", "-o", "trace", *options, "--", *command], stdout=subprocess.DEVNULL,
                              check=False)
        check(done.returncode == 0, f"{what}: status {done.returncode}")
        check_widths(spoor, what)
        check_copies(spoor, what)


if __name__ == "__main__":
    if not shutil.which("gcc"):
        print("gcc is not installed")
        sys.exit(SKIP)
    test(os.path.realpath(sys.argv[1]))

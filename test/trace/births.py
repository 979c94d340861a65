#!/usr/bin/env python3
"""births.py SPOOR PROGRAM: traced with the C library, the calls that make threads and processes return, and the first
call of each new one is no call of theirs (programs/births.c)."""
import json
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

THREADS, CLONES = 3, 3
BY_LIBRARY = THREADS + 1  # tasks that the C library makes for the program
# {function: calls}; clone3 has a name only where the C library's debug symbols are installed. C libraries for Arm may
# have no clone3: then they use clone.
CALLS = {"clone": {CLONES} if os.uname().machine == "x86_64" else {CLONES, CLONES + BY_LIBRARY}, "clone3": {BY_LIBRARY}}
# {first function of the program in a new thread or process: its depth there}. One function of the C library calls body.
DEPTHS = {"body": 1, "child": 0}


def is_refused(spoor, name):
    """Whether spoor says that it cannot trace a function of the C library, as clone of Debian's for 32-bit Arm."""
    info = spoor.info()
    library = next(module["path"] for module in info["modules"] if module["name"].startswith("libc.so"))
    done = run([spoor.path, "explain", "--json", "-F", name, library])
    found = json.loads(done.stdout)
    return info["arch"] == "arm" and len(found) == 1 and found[0]["refused"] == "unknown-depth"


def check_calls(spoor):
    rows = {row["function"]: row for row in spoor.report() if row["module"].startswith("libc.so")}
    check("clone" in rows or is_refused(spoor, "clone"), f"report: no clone: {sorted(rows)}")
    for name, calls in CALLS.items():
        row = rows.get(name)
        check(not row or row["calls"] in calls and row["unwound"] == row["inferred"] == 0, f"report: {row}")


def check_children(spoor):
    seen = {name: [] for name in DEPTHS}
    for item in spoor.replay():
        if item["kind"] == "entry" and item["function"] in DEPTHS:
            seen[item["function"]].append(item["depth"])
    expected = {"body": [DEPTHS["body"]] * THREADS, "child": [DEPTHS["child"]] * (CLONES - 1)}
    check(seen == expected, f"replay: depths of the first calls: {seen}")


def test(path, program):
    spoor = Spoor(path)
    check_same_outcome(run([program]), spoor.record(["-M", "*"], [program]), program)
    check_lossless(spoor.info())
    if spoor.is_whole():
        check_calls(spoor)
        check_children(spoor)


if __name__ == "__main__":
    arguments = [os.path.realpath(argument) for argument in sys.argv[1:]]
    main(lambda: test(*arguments))

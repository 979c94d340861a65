#!/usr/bin/env python3
"""limits.py SPOOR PROGRAM...: -D and -t keep or drop the calls of each stack by the same rule, even if the stack
changes threads. PROGRAM prints its calls (run.py)."""
import collections
import os
import sys

from harness import Spoor, check, check_balanced, check_lossless, main, run
from run import Expectation

DEPTHS = 1, 2, 3, 5
BRIEF = "1ns"  # no call is shorter
LONG_NS = 30000


def stacks_of(expected):
    """{stack: its marks in order}"""
    stacks, shared = collections.defaultdict(list), []
    for thread, marks in expected.threads.items():
        for mark in marks:
            if mark.order is None:
                stacks[thread, mark.stack].append(mark)
            else:
                shared.append(mark)
    for mark in sorted(shared, key=lambda mark: mark.order):
        stacks["shared", mark.stack].append(mark)
    return stacks.values()


def count(expected, depth):
    """{function: calls} of calls with less than DEPTH calls above them on their stack."""
    counts = collections.Counter()
    for marks in stacks_of(expected):
        above = 0
        for mark in marks:
            counts[mark.function] += mark.mark == ">" and above < depth
            above += 1 if mark.mark == ">" else -1
    return counts


def check_counts(spoor, options, wanted, names):
    rows = {row["function"]: row for row in spoor.report()}
    seen = collections.Counter({name: rows[name]["calls"] for name in names if name in rows})
    check(seen == +wanted, f"{options}: calls {dict(seen)} instead of {dict(+wanted)}")
    for name in seen:
        check(rows[name]["unwound"] == 0, f"{options}: {name}: {rows[name]}")


def check_long(spoor, options, names):
    """Each shown call is long; so are its callers."""
    for row in spoor.report():
        if row["function"] in names:
            check(row["min_ns"] >= LONG_NS and row["unwound"] == 0, f"{options}: {row}")
    check_balanced(spoor.replay())


def test(spoor, program):
    alone = run([program])
    check(alone.status != 77, "the program cannot run on this machine")
    expected = Expectation(alone.stdout.decode(), os.path.basename(program))
    names = {name for _, name in expected.functions()}
    ways = [([f"-D{depth}"], count(expected, depth)) for depth in DEPTHS]
    ways += [(["-t", BRIEF], count(expected, sys.maxsize)), (["-t", BRIEF, "-D2"], count(expected, 2)),
             (["-t", f"{LONG_NS}ns"], None)]
    for options, wanted in ways:
        done = spoor.record([*options, "--overflow=wait"], [program])
        check(done.stdout == alone.stdout and done.status == alone.status, f"{options}: {done}")
        info = spoor.info()
        check_lossless(info)
        check(any(info["limits"].values()), f"{options}: {info['limits']}")
        if wanted is None:
            check_long(spoor, options, names)
        else:
            check_counts(spoor, options, wanted, names)


if __name__ == "__main__":
    subject = Spoor(os.path.realpath(sys.argv[1]))
    for path in map(os.path.realpath, sys.argv[2:]):
        main(lambda: test(subject, path))  # pylint: disable=cell-var-from-loop

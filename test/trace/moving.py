#!/usr/bin/env python3
"""moving.py SPOOR PROGRAM: the moves of Go stacks are recorded with every filter (see programs/moving.c)."""
import os
import sys

from harness import Spoor, check, main, run

ROUNDS, DEPTH = 3, 6
WAYS = {("-F", "deep"): {"deep": ROUNDS * DEPTH},
        ("-F", "main", "-F", "deep"): {"main": 1, "deep": ROUNDS * DEPTH},
        ("-F", "deep", "-D", "2"): {"deep": ROUNDS * 2},
        ("-t", "1ns"): {"deep": ROUNDS * DEPTH},
        ("-N", "runtime.*"): {"deep": ROUNDS * DEPTH}}


def test(spoor, program):
    alone = run([program])
    for options, counts in WAYS.items():
        done = spoor.record(list(options), [program])
        check(done.stdout == alone.stdout and done.status == alone.status, f"{options}: {done}")
        if not spoor.is_whole():
            continue
        rows = {row["function"]: row for row in spoor.report()}
        for name, calls in counts.items():
            row = rows.get(name, {})
            check(row.get("calls") == calls and row.get("unwound") == 0,
                  f"{options}: {name}: {row}")


if __name__ == "__main__":
    subject, path = Spoor(os.path.realpath(sys.argv[1])), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))

#!/usr/bin/env python3
"""A signal that comes while a thread is in the pieces of a function's first instruction, or in the stub of an exit
there, records no call twice.

    first_pieces.py SPOOR PROGRAM

PROGRAM is programs/first_pieces.c. Each call is recorded once, and ends by a return.
"""
import os
import sys

from harness import Spoor, check, check_lossless, check_same_outcome, main, run

FILTER = ["-F", "first_*"]


def counts():
    with open("counts", encoding="ascii") as file:
        return {name: int(number) for name, number in (line.split() for line in file)}


def test(spoor, program):
    command = [program, "counts"]
    check_same_outcome(run(command), spoor.record(FILTER, command), "spoor record")
    check_lossless(spoor.info())
    rows = {row["function"]: row for row in spoor.report()}
    for name, number in counts().items():
        check(name in rows, f"{name} is not traced")
        check(rows[name]["calls"] == number and not rows[name]["unwound"],
              f"{name}: {number} calls, but the report has {rows[name]}")


if __name__ == "__main__":
    tracer, traced = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(tracer, traced))

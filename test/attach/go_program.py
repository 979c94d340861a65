#!/usr/bin/env python3
"""spoor attaches to a Go program whose goroutines are preempted at any instruction, and launches it. The program
ends with the right result, has its own code again, and no event is lost.

    go_program.py SPOOR PROGRAM
"""
import os
import sys

from attach import Spoor, attach_for, check, check_left, check_lossless, code_of, main, run, running

WAYS = ([], ["-F", "main.*"], ["-M", "*", "--overflow=wait"])
MOMENT = "1s"


def check_info(info, way):
    check(info["functions"]["instrumented"] > 3, f"{way}: {info['functions']}")
    check(info["events"]["entry"] > 0, f"{way}: no event: {info['events']}")
    if "--overflow=wait" in way:
        check_lossless(info)


def test(spoor, program):
    with running([program]) as process:
        before = code_of(process.pid)
        for way in WAYS:
            check_info(attach_for(spoor, process.pid, MOMENT, *way), way)
            check_left(process.pid, before)
    for way in WAYS:
        done = run([spoor.path, "record", "-o", "trace", *way, "--", program])
        check(done.status == 0 and done.stdout == b"ready\nright\n", f"record {way}: {done}")
        check_info(spoor.json("info", "--json", "trace"), way)


if __name__ == "__main__":
    main(lambda: test(Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])))

#!/usr/bin/env python3
"""spoor comes to a program some of whose stacks are Go's, and hold places in the middle of what would be
patched: those go on where they were. What no stack holds is traced.

    goroutines.py SPOOR PROGRAM
"""
import os
import sys

from attach import Spoor, attach_for, check, check_left, code_of, main, running


def test(spoor, program):
    with running([program]) as process:
        before = code_of(process.pid)
        for _ in range(3):
            info = attach_for(spoor, process.pid, "700ms")
            check(info["events"]["entry"] > 0, "no event")
            calls = {row["function"]: row["calls"] for row in spoor.report()}
            check(calls.get("go_on", 0) > 0 and "same" not in calls, f"calls: {calls}")
            check_left(process.pid, before)


if __name__ == "__main__":
    subject, program = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, program))

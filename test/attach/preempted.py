#!/usr/bin/env python3
"""A program's signal handlers have switched to other stacks and will return into the middle of functions. spoor
attaches, changes the filter, and detaches.

    preempted.py SPOOR PROGRAM

PROGRAM is programs/preempted.c.
"""
import os
import subprocess
import sys

from attach import Spoor, attach_for, check, check_left, code_of, main, rounds, run, running

WAYS = ([], ["-M", "*"], ["-F", "schedule", "-F", "fetch"])
VISITS, CHANGES = rounds(12, 4), rounds(10, 4)


def attach_and_detach(spoor, pid):
    before = code_of(pid)
    for number in range(VISITS):
        info = attach_for(spoor, pid, f"{number % 4 * 10 + 1}ms", *WAYS[number % len(WAYS)])
        check(info["functions"]["instrumented"] > 0, f"no function is traced: {info}")
        check_left(pid, before)


def change(spoor, pid):
    before = code_of(pid)
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", str(pid)]) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"attach ended: {recorder.returncode}")
        for number in range(CHANGES):
            way = ["pause"], ["resume"], ["filter", "-F", "fetch"], ["filter", "-F", "*"]
            done = run([spoor.path, "ctl", str(pid), *way[number % len(way)]])
            check(done.status == 0, f"change {number}: {done}")
        check(run([spoor.path, "ctl", str(pid), "stop"]).status == 0, "is not stopped")
    check_left(pid, before)


def test(spoor, program):
    for kind in "made", "own", "signal", "kept":
        with running([program, kind]) as process:
            attach_and_detach(spoor, process.pid)
            change(spoor, process.pid)


if __name__ == "__main__":
    subject, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, given))

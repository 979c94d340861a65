#!/usr/bin/env python3
"""spoor attaches to a program that has set its process title and calls none of its functions. The trace has
the title as command. The empty trace makes spoor hint at other modules, or say that the process is stopped.

    empty_trace.py SPOOR PROGRAM
"""
import os
import signal
import sys

from attach import Spoor, attach, check, main, running

HINT, STOPPED = b"-M '*'", b"was stopped all the time"


def test(spoor, program):
    with running([program, "some", "more", "arguments", "for the title's sake"]) as process:
        for options, hinted in ([], True), (["-M", "*"], False), (["-F", "main"], False):
            done = attach(spoor, process.pid, "--duration=1ms", *options)
            info = spoor.json("info", "--json", "trace")
            check(done.status == 0 and info["events"]["entry"] == 0, f"{options}: {done}, {info}")
            check((HINT in done.stderr) == hinted, f"{options}: {done.stderr.decode()}")
            check(STOPPED not in done.stderr, f"the process is not stopped: {done.stderr.decode()}")
            check(info["command"] == ["title: at rest"], f"command: {info['command']}")
        os.kill(process.pid, signal.SIGSTOP)
        for options in [], ["-M", "*"]:
            done = attach(spoor, process.pid, "--duration=1ms", *options)
            check(STOPPED in done.stderr and HINT not in done.stderr, f"{options}, stopped: {done.stderr.decode()}")
        os.kill(process.pid, signal.SIGCONT)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1])
    path = os.path.realpath(sys.argv[2])
    main(lambda: test(subject, path))

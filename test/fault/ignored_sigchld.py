#!/usr/bin/env python3
"""SIGCHLD is ignored when spoor starts. The program inherits that; spoor itself needs the signal and resets it.

    ignored_sigchld.py SPOOR
"""
import signal
import sys

from fault import Spoor, check, main

SHOW = """
import os
for pid in os.getppid(), os.getpid():
    print([line for line in open(f"/proc/{pid}/status") if line.startswith("SigIgn:")][0].strip())
raise SystemExit(6)
"""


def ignores(line):
    return int(line.split()[1], 16) >> (signal.SIGCHLD - 1) & 1


def ignore_children():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def test(spoor):
    done = spoor.record([], [sys.executable, "-S", "-c", SHOW], preexec_fn=ignore_children)
    check(done.status == 6, f"status {done.status}: {done.stderr.decode()}")
    spoor_line, program_line = done.stdout.decode().splitlines()
    check(not ignores(spoor_line), f"spoor ignores SIGCHLD: {spoor_line}")
    check(ignores(program_line), f"the program does not ignore SIGCHLD: {program_line}")


if __name__ == "__main__":
    tracer = Spoor(sys.argv[1])
    main(lambda: test(tracer))

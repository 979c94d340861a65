#!/usr/bin/env python3
"""spoor is killed at each request of settling, which moves a thread out of a trampoline. The program does not notice.

    settling.py SPOOR STRIKE PROGRAM

STRIKE is a library that acts at the N-th request (programs/fail_at_step.c), PROGRAM is programs/stub_signals.c.
"""
import os
import signal
import sys

from fault import (RIGHT, Spoor, adopt_orphans, await_orphans, check, check_right, communicate,
                   kill_children, main, run, started)

REQUESTS = 24  # more than settling takes
TRIES = 20


def killed_at(spoor, strike, program, step):
    """Whether spoor made the request. With small rings the program may be in trampolines only to wait for room."""
    what = f"killed at request {step} of settling"
    environment = dict(os.environ, LD_PRELOAD=strike, STRIKE=f"settling:{step}")
    with started(spoor.command([], [program]), env=environment) as tracer:
        out, err = communicate(tracer, what)
    came = tracer.returncode != RIGHT
    ends = await_orphans(what) if came else [RIGHT]
    check(not came or tracer.returncode == -signal.SIGKILL, f"{what}: {tracer.returncode} {err}")
    check(ends == [RIGHT] and out == b"right\n", f"{what}: the program ended with {ends}: {err}")
    return came


def test(spoor, strike, program):
    adopt_orphans()
    check_right(run([program]), "alone")
    for step in range(REQUESTS):
        check(any(killed_at(spoor, strike, program, step) for _ in range(TRIES)), f"request {step} never came")


if __name__ == "__main__":
    subject, files = Spoor(sys.argv[1]), [os.path.realpath(word) for word in sys.argv[2:]]
    try:
        main(lambda: test(subject, *files))
    finally:
        kill_children()

#!/usr/bin/env python3
"""spoor is killed at a step of what it does when a program changes the protection of its code: a thread waits at
mprotect, other threads call the functions there. The program goes on, and ends right.

    kill_at_guard.py SPOOR STRIKE PROGRAM

STRIKE is a library that acts at the N-th request (programs/strike.c), PROGRAM is programs/code_switches.c.
"""
import os
import sys

from fault import Spoor, adopt_orphans, check_right, kill_children, main, run
from kill_at_start import Kills

CALLS = 64  # of mprotect, by the program
TRIED = 16  # steps that are tried with each set of options, of two such calls


def steps_of_two_calls(count):
    """Nearly all of the COUNT steps of a recording serve calls of mprotect: some of those in the middle."""
    return [count // 2 + i * 2 * count // CALLS // TRIED for i in range(TRIED)]


def test(kills):
    adopt_orphans()
    check_right(run(kills.program), "alone")
    for way in ([], ["-M", "*"]):
        for step in steps_of_two_calls(kills.count(way)):
            kills.kill_spoor(way, step)


if __name__ == "__main__":
    subject = Kills(Spoor(sys.argv[1]), sys.argv[2], [os.path.realpath(sys.argv[3]), "unchanged"])
    try:
        main(lambda: test(subject))
    finally:
        kill_children()

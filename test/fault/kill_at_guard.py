#!/usr/bin/env python3
"""spoor is killed at a step of what it does when a program changes the protection of its code: a thread waits at
mprotect, other threads call the functions there. The program goes on, and ends right.

    kill_at_guard.py [--tried=N] SPOOR STRIKE PROGRAM

STRIKE is a library that acts at the N-th request (programs/fail_at_step.c), PROGRAM is programs/code_switches.c. N steps are
tried with each set of options, spread evenly over two calls of mprotect; with SPOOR_TEST_SEED others each time.
"""
import argparse
import os
import random

from fault import SEED, Spoor, adopt_orphans, check_right, kill_children, main, rounds, run
from kill_at_start import Kills

CALLS = 64  # of mprotect, by the program
TRIED = rounds(16)


def steps_of_two_calls(count, tried):
    """Nearly all of the COUNT steps of a recording serve calls of mprotect: TRIED of those in the middle."""
    shift = random.Random(SEED).random() if SEED else 0
    return [count // 2 + int((i + shift) * 2 * count / CALLS / tried) for i in range(tried)]


def test(kills, tried):
    adopt_orphans()
    check_right(run(kills.program), "alone")
    for way in ([], ["-M", "*"]):
        for step in steps_of_two_calls(kills.count(way), tried):
            kills.kill_spoor(way, step)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tried", type=int, default=TRIED)
    for name in ("spoor", "strike", "program"):
        parser.add_argument(name)
    return parser.parse_args()


if __name__ == "__main__":
    given = parse()
    subject = Kills(Spoor(given.spoor), given.strike, [os.path.realpath(given.program), "unchanged"])
    try:
        main(lambda: test(subject, given.tried))
    finally:
        kill_children()

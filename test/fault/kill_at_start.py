#!/usr/bin/env python3
"""Somebody is killed while a session starts, at each of its steps.

    kill_at_start.py SPOOR STRIKE PROGRAM [ARGUMENT...]

STRIKE is the library that strikes at an exact request (programs/strike.c). When spoor is killed, the
program must run on to its right end (or, killed before it was a program, never begin). When the
program is killed, spoor must end as it did, and leave nobody behind.

Of the many steps some are tried, spread evenly; with SPOOR_TEST_SEED others each time.
"""
import os
import random
import signal
import sys
import time

from fault import (RIGHT, SEED, Spoor, await_orphans, check, communicate, kill_children, main, started,
                   take_in_orphans)

NEVER_BEGAN = 125
KILLED = 128 + signal.SIGKILL
TRIED = 40  # steps of each way to record
SURELY_REACHED = 100  # threads and children vary the number of those that come later
KILLS_BY_TIME, START_US = 30, 30000


def steps_to_try(count):
    """Some of COUNT steps, among them always the first."""
    dice = random.Random(SEED)
    shift = dice.random() if SEED else 0
    return sorted({0} | {int((i + shift) * count / TRIED) for i in range(TRIED)})


class Kills:
    def __init__(self, spoor, strike, program):
        self.spoor, self.strike, self.program = spoor, os.path.realpath(strike), program

    def running(self, way, how=None):
        """Spoor at work, with STRIKE=HOW."""
        environment = dict(os.environ)
        if how:
            environment.update(LD_PRELOAD=self.strike, STRIKE=how)
        return started(self.spoor.command(way, self.program), env=environment)

    def count(self, way):
        """How many steps there are until the end."""
        with self.running(way, "count:steps") as tracer:
            out, err = communicate(tracer, "counting")
        check(tracer.returncode == RIGHT and out == b"right\n", f"uninterrupted: {out} {err}")
        with open("steps", encoding="ascii") as steps:
            return int(steps.read())

    def expect_program_survives(self, tracer, what):
        """Returns whether spoor was killed."""
        out, err = communicate(tracer, what)
        ends = await_orphans(what)
        if tracer.returncode >= 0:
            check(tracer.returncode == RIGHT and out == b"right\n",
                  f"{what}, which came too late: status {tracer.returncode}, {out} {err}")
            return False
        if not ends and out:
            ends = [RIGHT]  # it had ended before
        end = ends[0] if ends else NEVER_BEGAN
        check(len(ends) <= 1 and end in (RIGHT, NEVER_BEGAN) and
              out == (b"right\n" if end == RIGHT else b""),
              f"{what}: the program ended with {ends}, said {out} {err}")
        return True

    def kill_spoor(self, way, step):
        what = f"{way}: spoor killed at step {step}"
        with self.running(way, f"spoor:{step}") as tracer:
            check(self.expect_program_survives(tracer, what) or step > SURELY_REACHED,
                  f"{what}: it was not")

    def kill_program(self, way, step):
        what = f"{way}: program killed at step {step}"
        with self.running(way, f"program:{step}") as tracer:
            out, err = communicate(tracer, what)
        await_orphans(what)  # its child, if it has one
        status = tracer.returncode
        early = status == NEVER_BEGAN and b"killed before it began" in err
        # Its child may be the one: the program then notices by itself.
        check(status in (KILLED, RIGHT, 1) or early, f"{what}: spoor ended with {status}: {err}")
        check(status != RIGHT or out == b"right\n", f"{what}: said {out}")

    def each_step(self, way, kill):
        for step in steps_to_try(self.count(way)):
            kill(way, step)

    def kill_by_time(self, way):
        dice, hits = random.Random(SEED or 1), 0
        for number in range(KILLS_BY_TIME):
            delay = (number + dice.random()) * START_US / KILLS_BY_TIME
            with self.running(way) as tracer:
                time.sleep(delay / 1e6)
                tracer.kill()
                hits += self.expect_program_survives(tracer, f"{way}: killed after {delay:.0f} us")
        check(hits > 0, "spoor was never killed in time")


def test(kills):
    take_in_orphans()
    for way in ([], ["-M", "*"], ["-M", "*", "--overflow=drop"]):
        kills.each_step(way, kills.kill_spoor)
    for way in ([], ["-M", "*"], ["-M", "*", "--no-follow"]):
        kills.each_step(way, kills.kill_program)
    kills.kill_by_time(["-M", "*"])


if __name__ == "__main__":
    subject = Kills(Spoor(sys.argv[1]), sys.argv[2], [os.path.realpath(w) for w in sys.argv[3:]])
    try:
        main(lambda: test(subject))
    finally:
        kill_children()

#!/usr/bin/env python3
"""spoor or the program is killed at a step of the start of a recording, or a remote call fails there.

    kill_at_start.py SPOOR STRIKE PROGRAM [ARGUMENT...]

STRIKE is a library that acts at the N-th request (programs/fail_at_step.c). If spoor is killed, the program ends with the
right result (or never begins, if it has not been executed yet). If the program is killed, spoor ends with the same
status, and leaves no process behind. If a remote call fails (also one of a series), the program ends with the right
result, or spoor says why it cannot begin.

A few of the many steps are tried, spread evenly; with SPOOR_TEST_SEED others each time.
"""
import os
import random
import signal
import sys
import time

from fault import (RIGHT, SEED, Spoor, adopt_orphans, await_orphans, check, communicate, kill_children, main, rounds,
                   started)

NEVER_BEGAN = 125
KILLED = 128 + signal.SIGKILL
TRIED = rounds(40)  # steps that are tried with each set of options
SURELY_REACHED = 100  # the number of later steps depends on the timing of threads and children
FIRST_CALLS = 20  # remote calls that fail, one by one
KILLS_BY_TIME, START_US = rounds(30), 30000


def steps_to_try(count):
    """A sample of COUNT steps, always with the first one."""
    dice = random.Random(SEED)
    shift = dice.random() if SEED else 0
    return sorted({0} | {int((i + shift) * count / TRIED) for i in range(TRIED)})


class Kills:
    def __init__(self, spoor, strike, program):
        self.spoor, self.strike, self.program = spoor, os.path.realpath(strike), program

    def running(self, way, how=None):
        """Runs spoor with STRIKE=HOW."""
        environment = dict(os.environ)
        if how:
            environment.update(LD_PRELOAD=self.strike, STRIKE=how)
        return started(self.spoor.command(way, self.program), env=environment)

    def count(self, way):
        """The number of steps until the end."""
        with self.running(way, "count:steps") as tracer:
            out, err = communicate(tracer, "counting")
        check(tracer.returncode == RIGHT and out == b"right\n", f"without a strike: {out} {err}")
        with open("steps", encoding="ascii") as steps:
            return int(steps.read())

    def expect_program_survives(self, tracer, what):
        """Returns whether spoor was killed."""
        out, err = communicate(tracer, what)
        ends = await_orphans(what)
        if tracer.returncode >= 0:
            check(tracer.returncode == RIGHT and out == b"right\n",
                  f"{what} (too late): status {tracer.returncode}, {out} {err}")
            return False
        if not ends and out:
            ends = [RIGHT]  # the program had ended before
        end = ends[0] if ends else NEVER_BEGAN
        check(len(ends) <= 1 and end in (RIGHT, NEVER_BEGAN) and
              out == (b"right\n" if end == RIGHT else b""),
              f"{what}: the program ended with {ends}, printed {out} {err}")
        return True

    def kill_spoor(self, way, step):
        what = f"{way}: spoor killed at step {step}"
        with self.running(way, f"spoor:{step}") as tracer:
            check(self.expect_program_survives(tracer, what) or step > SURELY_REACHED,
                  f"{what}: spoor was not killed")

    def kill_program(self, way, step):
        what = f"{way}: program killed at step {step}"
        with self.running(way, f"program:{step}") as tracer:
            out, err = communicate(tracer, what)
        await_orphans(what)  # the program's child, if it has one
        status = tracer.returncode
        early = status == NEVER_BEGAN and b"was killed before its first instruction" in err
        # If the program's child was killed, the program notices that and ends with status 1.
        check(status in (KILLED, RIGHT, 1) or early, f"{what}: spoor ended with {status}: {err}")
        check(status != RIGHT or out == b"right\n", f"{what}: printed {out}")

    def each_step(self, way, kill):
        for step in steps_to_try(self.count(way)):
            kill(way, step)

    def fail_calls(self, way):
        never = 0
        for how in [f"{kind}:{call}" for kind in ("call", "room") for call in range(FIRST_CALLS)]:
            with self.running(way, how) as tracer:
                out, err = communicate(tracer, f"{way}: {how} fails")
            began = tracer.returncode == RIGHT and out == b"right\n"
            check(began or (tracer.returncode == NEVER_BEGAN and err.startswith(b"spoor: ") and not out),
                  f"{way}: {how} fails: status {tracer.returncode}, {out} {err}")
            never += not began
        check(never, f"{way}: no call failed without which the program cannot be traced")

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
    adopt_orphans()
    for way in ([], ["-M", "*"], ["-M", "*", "--overflow=drop"]):
        kills.each_step(way, kills.kill_spoor)
    for way in ([], ["-M", "*"], ["-M", "*", "--no-follow"]):
        kills.each_step(way, kills.kill_program)
    kills.fail_calls(["-M", "*"])
    kills.kill_by_time(["-M", "*"])


if __name__ == "__main__":
    subject = Kills(Spoor(sys.argv[1]), sys.argv[2], [os.path.realpath(w) for w in sys.argv[3:]])
    try:
        main(lambda: test(subject))
    finally:
        kill_children()

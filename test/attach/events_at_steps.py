#!/usr/bin/env python3
"""Something happens at each step of coming to a program, leaving it, and removing what a spoor that was killed has
left: it executes another program, forks, is killed; a request to the kernel fails. Whatever it is, the program comes
to its right end, and the next spoor finds it as it was, or makes it so.

    events_at_steps.py SPOOR STRIKE KIN

STRIKE is the library that strikes at an exact request (test/fault/programs/strike.c). Of the many steps some are
tried, spread evenly; with SPOOR_TEST_SEED others each time.
"""
import os
import random
import subprocess
import sys

from attach import Spoor, attach_until_seen, check, check_left, code_of, main, run, running, traces_of_us
from harness import SEED, Failure

TRIED = 3  # steps of each kind
WAY = ["-M", "*"]
# What can fail of removing what is left, and how many there are; 0: nearly all steps are such.
KINDS = ("seize", 3), ("memory", 60), ("memory", 0), ("call", 8), ("room", 8)


class Moments:
    def __init__(self, spoor, strike, program):
        self.spoor, self.strike, self.program = spoor, strike, [program, "asked"]
        self.dice = random.Random(SEED or 1)

    def strike_at(self, how, *words):
        return run([self.spoor.path, *words], env=dict(os.environ, LD_PRELOAD=self.strike, STRIKE=how))

    @staticmethod
    def attach(pid):
        return "attach", "-o", "trace", "--duration=5ms", *WAY, str(pid)

    @staticmethod
    def check_left(pid, before, what):
        try:
            check_left(pid, before)
        except Failure as failure:
            raise Failure(f"{what}: {failure}") from failure

    def steps(self, count):
        """Some of COUNT steps."""
        return sorted({int((i + self.dice.random()) * count / TRIED) for i in range(TRIED)})

    def count(self, *words):
        done = self.strike_at("count:steps", *words)
        check(done.status == 0, f"{words}: {done}")
        with open("steps", encoding="ascii") as steps:
            return int(steps.read())

    def asked(self, how):
        """It executes itself, or forks."""
        with running(self.program) as process:
            count = self.count(*self.attach(process.pid))
        for step in self.steps(count):
            with running(self.program) as process:
                before = code_of(process.pid)
                done = self.strike_at(f"{how}:{step}", *self.attach(process.pid))
                what = f"{how} at step {step}: {done}"
                check(done.status == 0 or
                      how == "exec" and done.status == 1 and b"has begun another program" in done.stderr, what)
                check(not traces_of_us(process.pid), what)
                if how == "fork":
                    self.check_left(process.pid, before, what)
                check(attach_until_seen(self.spoor, process.pid, *WAY)["events"]["entry"] > 0, f"{what}: no event")

    def starve(self):
        """A call that it makes for spoor gets no memory."""
        for step in self.steps(16):
            with running(self.program) as process:
                before = code_of(process.pid)
                done = self.strike_at(f"room:{step}", *self.attach(process.pid))
                what = f"no memory at call {step}: {done}"
                check(done.status in (0, 1), what)
                if b"cannot be unmapped" in done.stderr: # it was a call to leave, and it says how to mend that
                    done = run([self.spoor.path, "detach", str(process.pid)])
                    check(done.status == 0, f"{what}; detach: {done}")
                    self.check_left(process.pid, before, what)
                elif done.status:
                    self.check_left(process.pid, before, what)

    def leave_behind(self, pid):
        """A spoor that has patched everything is killed."""
        with subprocess.Popen([self.spoor.path, "attach", "-q", "-o", "trace", *WAY, str(pid)]) as recorder:
            while run([self.spoor.path, "ctl", str(pid), "status"]).status:
                check(recorder.poll() is None, f"attach ended with {recorder.returncode}")
            recorder.kill()

    def count_detach(self):
        with running(self.program) as process:
            self.leave_behind(process.pid)
            return self.count("detach", str(process.pid))

    def fail_detach(self, kind, count):
        """What is not done then is done by the next one."""
        for step in self.steps(count or self.count_detach()):
            with running(self.program) as process:
                before = code_of(process.pid)
                self.leave_behind(process.pid)
                done = self.strike_at(f"{kind}:{step}", "detach", str(process.pid))
                what = f"{kind} {step} of detach fails: {done}"
                check(done.status in (0, 1) and (done.status == 0 or done.stderr), what)
                again = run([self.spoor.path, "detach", str(process.pid)])
                what += f"; once more: {again}"
                check(again.status == 0, what)
                self.check_left(process.pid, before, what)

    def kill_program(self):
        """While it is freed of what is left."""
        for step in self.steps(self.count_detach()):
            with subprocess.Popen(self.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                self.leave_behind(process.pid)
                done = self.strike_at(f"program:{step}", "detach", str(process.pid))
                check(done.status in (0, 1), f"killed at step {step} of detach: {done}")
                process.kill()


def test(moments):
    for how in "exec", "fork":
        moments.asked(how)
    moments.starve()
    for kind, count in KINDS:
        moments.fail_detach(kind, count)
    moments.kill_program()


if __name__ == "__main__":
    subject = Moments(Spoor(sys.argv[1]), os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3]))
    main(lambda: test(subject))

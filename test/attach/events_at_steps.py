#!/usr/bin/env python3
"""At a step of attach, detach, or the removal of leftovers, the program execs, forks or is killed, or a request to
the kernel fails. The program always ends with the right result. The next spoor finds it clean, or cleans it.

    events_at_steps.py SPOOR STRIKE RELATED_TASKS

STRIKE is a library that acts at the N-th request (test/fault/programs/fail_at_step.c). A few of the many steps are
tried, spread evenly; with SPOOR_TEST_SEED others each time.
"""
import os
import random
import subprocess
import sys

from attach import Spoor, attach_until_seen, check, check_left, code_of, main, run, running, signs_of_spoor
from harness import SEED, Failure

TRIED = 3  # steps of each kind
WAY = ["-M", "*"]
# {requests that can fail during the removal of leftovers: how many there are}; 0: nearly all steps.
KINDS = ("seize", 3), ("memory", 60), ("memory", 0), ("call", 8), ("room", 8)


class Events:
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
        """A sample of COUNT steps."""
        return sorted({int((i + self.dice.random()) * count / TRIED) for i in range(TRIED)})

    def count(self, *words):
        done = self.strike_at("count:steps", *words)
        check(done.status == 0, f"{words}: {done}")
        with open("steps", encoding="ascii") as steps:
            return int(steps.read())

    def exec_or_fork(self, how):
        """The program execs itself, or forks."""
        with running(self.program) as process:
            count = self.count(*self.attach(process.pid))
        for step in self.steps(count):
            with running(self.program) as process:
                before = code_of(process.pid)
                done = self.strike_at(f"{how}:{step}", *self.attach(process.pid))
                what = f"{how} at step {step}: {done}"
                check(done.status == 0 or
                      how == "exec" and done.status == 1 and b"has begun another program" in done.stderr, what)
                check(not signs_of_spoor(process.pid), what)
                if how == "fork":
                    self.check_left(process.pid, before, what)
                check(attach_until_seen(self.spoor, process.pid, *WAY)["events"]["entry"] > 0, f"{what}: no event")

    def fail_allocations(self):
        """A remote call gets no memory."""
        for step in self.steps(16):
            with running(self.program) as process:
                before = code_of(process.pid)
                done = self.strike_at(f"room:{step}", *self.attach(process.pid))
                what = f"no memory at call {step}: {done}"
                check(done.status in (0, 1), what)
                if b"cannot be unmapped" in done.stderr:  # the call belongs to detach, which prints the remedy
                    done = run([self.spoor.path, "detach", str(process.pid)])
                    check(done.status == 0, f"{what}; detach: {done}")
                    self.check_left(process.pid, before, what)
                elif done.status:
                    self.check_left(process.pid, before, what)

    def leave_behind(self, pid):
        """Kills a spoor that has patched the program."""
        with subprocess.Popen([self.spoor.path, "attach", "-q", "-o", "trace", *WAY, str(pid)]) as recorder:
            while run([self.spoor.path, "ctl", str(pid), "status"]).status:
                check(recorder.poll() is None, f"attach ended with {recorder.returncode}")
            recorder.kill()

    def count_detach(self):
        with running(self.program) as process:
            self.leave_behind(process.pid)
            return self.count("detach", str(process.pid))

    def fail_detach(self, kind, count):
        """A request of "spoor detach" fails; the next "spoor detach" removes what is left."""
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
        """Kills the program while "spoor detach" removes leftovers."""
        for step in self.steps(self.count_detach()):
            with subprocess.Popen(self.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                self.leave_behind(process.pid)
                done = self.strike_at(f"program:{step}", "detach", str(process.pid))
                check(done.status in (0, 1), f"killed at step {step} of detach: {done}")
                process.kill()


def test(events):
    for how in "exec", "fork":
        events.exec_or_fork(how)
    events.fail_allocations()
    for kind, count in KINDS:
        events.fail_detach(kind, count)
    events.kill_program()


if __name__ == "__main__":
    subject = Events(Spoor(sys.argv[1]), os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3]))
    main(lambda: test(subject))

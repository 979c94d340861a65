#!/usr/bin/env python3
"""At a step of attach or detach a request to the kernel fails, spoor is killed, or the program is killed.

    failures_at_steps.py [--tried=N] [--modules=GLOB] SPOOR STRIKE PROGRAM [ARGUMENT...]

STRIKE is a library that acts at the N-th request (test/fault/programs/fail_at_step.c). Whatever fails, the program
ends with the right result. If the program is killed, spoor ends. Of the many steps N of each kind are tried,
spread evenly; with SPOOR_TEST_SEED others each time. Half of the attaches trace modules that match GLOB
(default: all).
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

from attach import Failure, Spoor, attach, attach_for, check, check_left, code_of, main, run, running
from harness import SEED, TIMEOUT

FIRST = 60
KINDS = (("seize", 8), ("memory", 60), ("call", 16))  # (kind, how many of its first steps are tried)
PATIENCE_S = TIMEOUT // 4
MAPS, LISTS = 32, 12  # more lists than an attach and detach reads


class Strikes:
    def __init__(self, spoor, strike, program, tried, modules):
        self.modules = ["-M", modules]
        self.spoor, self.strike, self.program, self.tried = spoor, os.path.realpath(strike), program, tried
        self.dice = random.Random(SEED or 1)
        self.stderr = b""  # standard error of the last attach

    def attach(self, pid, way, how):
        """Attaches briefly, with STRIKE=HOW; returns spoor's status, negative if it was killed."""
        environment = dict(os.environ, LD_PRELOAD=self.strike, STRIKE=how)
        command = [self.spoor.path, "attach", "-o", "trace", "--duration=5ms", *way, str(pid)]
        try:
            done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, timeout=PATIENCE_S,
                                  stderr=subprocess.PIPE, check=False)
            self.stderr = done.stderr
            return done.returncode
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{way}: {how}: spoor does not end") from late

    def count(self, way):
        with running(self.program) as process:
            check(self.attach(process.pid, way, "count:steps") == 0, "attach fails without a strike")
        with open("steps", encoding="ascii") as steps:
            return int(steps.read())

    def steps(self, count):
        """A sample of COUNT steps, many of them early: the first steps differ most."""
        early = [self.dice.randrange(min(count, FIRST)) for _ in range(self.tried // 2)]
        return sorted(early + [self.dice.randrange(count) for _ in range(self.tried - len(early))])

    def fail(self, way, _):
        """Requests fail; the next attach works. If unmapping has failed, "spoor detach" runs instead."""
        for kind, count in KINDS:
            failed = 0
            for step in [0, *self.steps(count)]:
                with running(self.program) as process:
                    before = code_of(process.pid)
                    status = self.attach(process.pid, way, f"{kind}:{step}")
                    check(status in (0, 1), f"{way}: {kind} {step} fails: status {status}")
                    failed += status
                    if status == 1 and b"cannot be unmapped" in self.stderr:  # during detach
                        again = run([self.spoor.path, "detach", str(process.pid)])
                        check(again.status == 0, f"{way}: {kind} {step} fails: detach: {again}")
                    if kind == "seize" or (kind == "call" and status == 1):
                        check_left(process.pid, before)
                        attach_for(self.spoor, process.pid, "10ms", *way)
                        check_left(process.pid, before)
            check(failed or kind == "memory", f"{way}: no {kind} failed")

    def kill_spoor(self, way, count):
        for step in self.steps(count):
            with running(self.program) as process:
                status = self.attach(process.pid, way, f"spoor:{step}")
                check(status in (0, -signal.SIGKILL), f"{way}: killed at step {step}: status {status}")
                time.sleep(0.01)

    def kill_program(self, way, count):
        for step in self.steps(count):
            with subprocess.Popen(self.program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                process.stdout.readline()
                status = self.attach(process.pid, way, f"program:{step}")
                check(status in (0, 1), f"{way}: program killed at step {step}: status {status}")
                process.kill()

    def fail_sharing(self):
        """Making the shared memory fails: spoor has two ways to get it out of the program."""
        for how, wanted in (("take:1", 0), ("take:2", 1), ("size:0", 1)):
            with running(self.program) as process:
                before = code_of(process.pid)
                status = self.attach(process.pid, [], how)
                check(status == wanted, f"{how}: status {status}")
                check_left(process.pid, before)

    def fail_reads(self):
        """Reading memory maps or lists of threads fails. Maps take two reads each."""
        errors = []
        for kind, steps in (("maps", range(0, MAPS, 2)), ("threads", range(LISTS))):
            for step in steps:
                with running(self.program) as process:
                    status = self.attach(process.pid, self.modules, f"{kind}:{step}")
                    check(status in (0, 1), f"{kind} {step}: status {status}")
                    errors.append(self.stderr)
        for what in (b"cannot read its memory map", b"cannot list its threads"):
            check(any(what in stderr for stderr in errors), f"no message has '{what}': {errors}")

    def fail_lists(self):
        """From some list on, none can be read: untraced threads may run in spoor's memory, and it stays."""
        stayed = 0
        for step in range(LISTS):
            with running(self.program) as process:
                before = code_of(process.pid)
                status = self.attach(process.pid, self.modules, f"unlisted:{step}")
                check(status in (0, 1), f"unlisted {step}: status {status}")
                check(status == 0 or b"cannot list its threads" in self.stderr, f"{step}: {self.stderr}")
                if b"stays" in self.stderr:
                    stayed += 1
                    again = run([self.spoor.path, "detach", str(process.pid)])
                    check(again.status == 0, f"unlisted {step}: detach: {again}")
                check_left(process.pid, before)
        check(stayed, "the memory was never left")

    def limits(self):
        """The program's resource limits are reached."""
        for limit, value in (("AS", 1 << 20), ("NOFILE", 0)):
            with running(self.program) as process:
                before = code_of(process.pid)
                subprocess.run(["prlimit", f"--pid={process.pid}", f"--{limit.lower()}={value}:"],
                               check=True)
                done = attach(self.spoor, process.pid, "--duration=10ms")
                check(done.status == 1 and done.stderr.count(b"\n") == 1, f"{limit}: {done}")
                check_left(process.pid, before)


def test(strikes):
    for way in [], strikes.modules:
        count = strikes.count(way)
        for strike in (strikes.fail, strikes.kill_spoor, strikes.kill_program):
            strike(way, count)
    strikes.fail_sharing()
    strikes.fail_reads()
    strikes.fail_lists()
    strikes.limits()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tried", type=int, default=10)
    parser.add_argument("--modules", default="*")
    parser.add_argument("spoor")
    parser.add_argument("strike")
    parser.add_argument("program", type=os.path.realpath)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


if __name__ == "__main__":
    given = parse()
    subject = Strikes(Spoor(given.spoor), given.strike, [given.program, *given.arguments], given.tried,
                      given.modules)
    main(lambda: test(subject))

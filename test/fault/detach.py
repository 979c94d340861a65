#!/usr/bin/env python3
"""spoor is killed at work. `spoor detach` then removes its patches and memory from the program, at whatever step spoor
was, and whatever the program does.

    detach.py SPOOR STRIKE PROGRAM LIBRARY

STRIKE is a library that acts at the N-th request (programs/fail_at_step.c), PROGRAM is programs/long_running.c. A few of
the many steps are tried, spread evenly; with SPOOR_TEST_SEED others each time.
"""
import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import time

from fault import (PATIENCE_S, RIGHT, SEED, Failure, Spoor, adopt_orphans, await_orphans, check,
                   children, describe_children, kill_children, main, run)

DICE = random.Random(SEED or 1)
TRIED = 5  # steps of spoor that are tried with each set of options
BY_TIME, WORK_S = 3, 0.05
OF_THE_KERNEL = "[vdso]", "[vsyscall]", "[vectors]", "[sigpage]"  # maps of the kernel's code


# ---- the maps of a process ----

def maps_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return [line.split(maxsplit=5) for line in maps.read().splitlines()]


def is_code(fields):
    return "x" in fields[1]


def is_of_file(fields):
    return len(fields) > 5 and fields[5].startswith("/")


def bounds(fields):
    low, high = fields[0].split("-")
    return int(low, 16), int(high, 16)


def code_of_file(fields):
    low, high = bounds(fields)
    with open(fields[5].strip(), "rb") as file:
        file.seek(int(fields[2], 16))
        return file.read(high - low).ljust(high - low, b"\0")


def read_memory(pid, fields):
    low, high = bounds(fields)
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(low)
        return memory.read(high - low)


def check_code(pid, what):
    """All code is mapped from files and has their bytes. No memory is shared with a spoor."""
    for file in os.listdir(f"/proc/{pid}/fd"):
        to = os.readlink(f"/proc/{pid}/fd/{file}")
        check("memfd" not in to, f"{what}: left: descriptor {file}: {to}")
    maps = maps_of(pid)
    check(maps, f"{what}: the process has ended")
    for fields in maps:
        name = fields[5].strip() if len(fields) > 5 else ""
        check("spoor" not in os.path.basename(name), f"{what}: left: {fields}")
        if not is_code(fields) or name in OF_THE_KERNEL:
            continue
        check(is_of_file(fields), f"{what}: left: {fields}")
        now, before = read_memory(pid, fields), code_of_file(fields)
        at = next((i for i, (a, b) in enumerate(zip(now, before)) if a != b), None)
        check(at is None, f"{what}: {fields[5]} differs at {at or 0:#x} of {fields}: "
              f"{now[at or 0:][:16].hex(' ')} instead of {before[at or 0:][:16].hex(' ')}")


# ---- the program ----

class Program:
    """A run of programs/long_running.c. Its parent may have ended."""

    def __init__(self, process):
        self.process = process
        self.pid = None
        self.text = b""

    def line(self, what):
        """The program's next line; None if it has ended."""
        deadline = time.monotonic() + PATIENCE_S
        while b"\n" not in self.text:
            ready = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))[0]
            check(ready, f"{what}: the program prints nothing; processes:\n{describe_children()}")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                print(f"{what}: ends: {await_orphans(what)}", file=sys.stderr)
                return None
            self.text += more
        line, self.text = self.text.split(b"\n", 1)
        return line.decode()

    def send(self, command, answer, what):
        os.write(self.process.stdin.fileno(), command)
        line = self.line(what)
        check(line is not None, f"{what}: the program has ended without an answer to {command}")
        check(answer in (None, line), f"{what}: the answer to {command} is {line}")
        return line

    def expect_right_end(self, what):
        self.send(b"e", "right", what)
        ends = await_orphans(what)
        check(RIGHT in ends, f"{what}: the program ended with {ends}")


@contextlib.contextmanager
def started(command, how=None, strike=None):
    environment = dict(os.environ)
    if how:
        environment.update(LD_PRELOAD=strike, STRIKE=how)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            yield Program(process)
        finally:
            process.kill()
            kill_children()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, 0):
                    pass


class Test:
    def __init__(self, spoor, strike, program):
        self.spoor, self.strike, self.program = spoor, os.path.realpath(strike), program

    def count(self, command):
        """The number of spoor's steps in COMMAND."""
        run(command, env=dict(os.environ, LD_PRELOAD=self.strike, STRIKE="count:steps"))
        with open("steps", encoding="ascii") as steps:
            return int(steps.read())

    @staticmethod
    def steps_to_try(count):
        shift = DICE.random() if SEED else 0
        return sorted({int((i + shift) * count / TRIED) for i in range(TRIED)})

    def detach(self, pid, what):
        """Runs "spoor detach" until no signal handler still has to return into spoor's code."""
        for _ in range(200):
            done = run([self.spoor.path, "detach", str(pid)])
            if done.status == 0:
                return
            check(done.status == 1 and b"signal handler" in done.stderr,
                  f"{what}: detach ends with {done.status}: {done.stderr}")
            time.sleep(0.005)
        raise Failure(f"{what}: detach never succeeds: {done.stderr}")

    def detach_and_check(self, program, what):
        program.send(b"w", "works", what)  # signals interrupt it in trampolines, and no spoor settles it
        self.detach(program.pid, what)
        program.send(b"q", "quiet", what)
        check_code(program.pid, what)
        program.send(b"w", "works", what)

    def find_program(self, program, what):
        """Sets program.pid after spoor was killed. Returns whether the program had begun."""
        program.process.wait(PATIENCE_S)
        check(program.process.returncode == -signal.SIGKILL, f"{what}: spoor was not killed")
        line = program.line(what)
        check(line in ("ready", None), f"{what}: the program prints {line}")
        if line:
            program.pid = children()[0]
        return line is not None

    # ---- the tests ----

    def killed_at(self, way, step):
        what = f"record {' '.join(way)}, killed at step {step}"
        with started(self.spoor.command(way, self.program), f"spoor:{step}", self.strike) as program:
            if self.find_program(program, what):
                self.detach_and_check(program, what)
                program.expect_right_end(what)

    def killed_at_steps(self, way):
        count = self.count(self.spoor.command(way, self.program))
        for step in self.steps_to_try(count):
            self.killed_at(way, step)

    @contextlib.contextmanager
    def program_of_killed_spoor(self, way, what, seconds=WORK_S):
        """Yields the program after spoor was killed. SECONDS: how long it works before."""
        with started(self.spoor.command(way, self.program)) as program:
            check(program.line(what) == "ready", f"{what}: the program does not begin")
            program.pid = children_of(program.process.pid)[0]
            time.sleep(seconds)
            program.process.kill()
            program.process.wait(PATIENCE_S)
            yield program

    def killed_at_work(self, way):
        for number in range(BY_TIME):
            what = f"record {' '.join(way)}, killed at work ({number})"
            with self.program_of_killed_spoor(way, what, DICE.random() * WORK_S) as program:
                self.detach_and_check(program, what)
                program.expect_right_end(what)

    def detach_killed(self, way):
        """spoor detach is killed, too."""
        with self.program_of_killed_spoor(way, "an orphan") as program:
            count = self.count([self.spoor.path, "detach", str(program.pid)])
        check(count > TRIED, f"detach takes {count} steps")
        for step in self.steps_to_try(count):
            what = f"detach killed at step {step}"
            with self.program_of_killed_spoor(way, what) as program:
                run([self.spoor.path, "detach", str(program.pid)],
                    env=dict(os.environ, LD_PRELOAD=self.strike, STRIKE=f"spoor:{step}"))
                self.detach_and_check(program, what)
                program.expect_right_end(what)

    def shared_code_is_unmapped(self, way):
        """A process before had the same libraries: this one maps the trampolines that were made for it."""
        what = "code of an earlier process"
        with self.program_of_killed_spoor(way, what) as program:
            check(any("memfd:spoor-code" in line[-1] for line in maps_of(program.pid)),
                  f"{what}: not mapped: {maps_of(program.pid)}")
            self.detach_and_check(program, what)
            program.expect_right_end(what)

    def children_are_their_own(self, way):
        what = "children"
        with self.program_of_killed_spoor(way, what) as program:
            before = int(program.send(b"f", None, what))
            self.detach_and_check(program, what)
            check(any("memfd:spoor" in line[-1] for line in maps_of(before)),
                  f"{what}: the child has no leftovers")
            self.detach(before, what)
            os.kill(before, signal.SIGSTOP)
            check_code(before, what)
            os.kill(before, signal.SIGCONT)
            after = int(program.send(b"f", None, what))
            check_nothing(self.spoor, after, what)
            program.expect_right_end(what)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as list_of:
        return [int(child) for child in list_of.read().split()]


def check_nothing(spoor, pid, what):
    done = run([spoor.path, "detach", str(pid)])
    check(done.status == 0 and b"nothing of spoor" in done.stderr, f"{what}: {done}")


def test(subject):
    adopt_orphans()
    later = Test(subject.spoor, subject.strike, ["env", "env", *subject.program])
    if os.uname().machine == "x86_64":
        later.shared_code_is_unmapped(["-M", "*"])
    later.killed_at_steps(["-M", "*"])
    subject.killed_at_work(["-M", "*"])
    subject.killed_at_work([])
    subject.children_are_their_own(["-M", "*"])
    subject.detach_killed(["-M", "*", "--overflow=drop"])
    subject.killed_at_steps(["-M", "*"])


if __name__ == "__main__":
    test_subject = Test(Spoor(sys.argv[1]), sys.argv[2], [os.path.realpath(w) for w in sys.argv[3:]])
    try:
        main(lambda: test(test_subject))
    finally:
        kill_children()

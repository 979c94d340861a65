#!/usr/bin/env python3
"""Each remote call in turn that unmaps memory fails, as in a process with the greatest number of maps. spoor prints
that, in spite of -q, and fails. The program runs on with its own code, and the next spoor unmaps the memory. In an
emulated machine every fourth call fails, beginning with a random one (SPOOR_TEST_SEED).

    unmap_failures.py SPOOR STRIKE PROGRAM [ARGUMENT...]

STRIKE is a library that acts at the N-th request (test/fault/programs/fail_at_step.c).
"""
import os
import random
import subprocess
import sys

from attach import Spoor, check, check_left, code_of, main, rounds, run, running
from harness import SEED

LEAST, MOST = 3, 1000  # at least an area, a slab, the agent
STEP = 4 // rounds(4)
FIRST = random.Random(SEED).randrange(STEP) if STEP > 1 else 0
WAY = ["-M", "*"]


def own_code(pid):
    """The part of code_of(pid) that is the program's."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            fields = line.split()
            if "x" in fields[1] and fields[-1].startswith("/"):
                start, end = (int(word, 16) for word in fields[0].split("-"))
                memory.seek(start)
                yield fields[-1], memory.read(end - start)


def leave_behind(spoor, pid):
    """Kills a spoor that has patched the program."""
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", *WAY, str(pid)]) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"attach ended with {recorder.returncode}")
        recorder.kill()


def fail_each(spoor, strike, pid, after_kill):
    """Makes the first, second, third … unmapping fail, until there are no more; returns their number, or up to
    STEP - 1 more."""
    before, own = code_of(pid), dict(own_code(pid))
    words = ["detach", str(pid)] if after_kill else ["attach", "-q", "-o", "trace", "--duration=5ms", *WAY, str(pid)]
    for number in range(FIRST, MOST, STEP):
        if after_kill:
            leave_behind(spoor, pid)
        done = run([spoor.path, *words], env=dict(os.environ, LD_PRELOAD=strike, STRIKE=f"unmap:{number}"))
        refused, what = b"cannot be unmapped" in done.stderr, f"{words}, call {number}: {done}"
        if not refused:
            check(done.status == 0, what)
            check_left(pid, before)
            return number
        check(done.status == 1 and done.stderr.count(b"cannot be unmapped") == 1, what)
        check(dict(own_code(pid)) == own, f"{what}: its code has changed")
        again = run([spoor.path, "detach", str(pid)])
        check(again.status == 0 and b"nothing of spoor" not in again.stderr, f"{what}; once more: {again}")
        check_left(pid, before)
    return MOST


def test(spoor, strike, program):
    with running(program) as process:
        for after_kill in False, True:
            count = fail_each(spoor, strike, process.pid, after_kill)
            check(LEAST <= count < MOST, f"after a kill: {after_kill}: {count} calls")


if __name__ == "__main__":
    files = [os.path.realpath(word) for word in sys.argv[2:4]]
    subject = Spoor(sys.argv[1])
    main(lambda: test(subject, files[0], [files[1], *sys.argv[4:]]))

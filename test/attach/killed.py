#!/usr/bin/env python3
"""spoor attaches to a program at work and is killed, again and again. The next attach, or `spoor detach`,
removes the leftovers. The program does not notice.

    killed.py SPOOR PROGRAM [ARGUMENT...]
"""
import os
import random
import subprocess
import sys
import time

from attach import (TIMEOUT, Spoor, attach_until_seen, check, check_left, code_of, main, rounds, run, running, signs_of_spoor)
from harness import SEED

DICE = random.Random(SEED or 1)
AT_WORK_S = 0.02
CHANGES = ([["pause"]], [["pause"], ["resume"]], [["filter", "-F", "*"]])
# Of each function of the program; no read faults: a kill at such a fault is a known limit.
VALUES = ["-A", "*@%rdi/x,%rsi/x,%rsp/s,fparg1/64", "-R", "*@retval/x"] if os.uname().machine == "x86_64" else ["-a"]
WAYS = (["-M", "*"], [], ["-M", "*", "--overflow=wait"], VALUES)
ROUNDS = rounds(9, len(WAYS))


def kill_at_work(spoor, pid, way):
    """Attaches and kills spoor: while it attaches in one round of three, otherwise once it records."""
    command = [spoor.path, "attach", "-q", "-o", "trace", *way, str(pid)]
    with subprocess.Popen(command) as process:
        early = DICE.random() < 1 / 3
        deadline = time.monotonic() + TIMEOUT
        while not early and not any("spoor" in line for line in signs_of_spoor(pid)):
            check(process.poll() is None and time.monotonic() < deadline,
                  f"attach {way} does not begin: {process.returncode}")
        time.sleep(DICE.random() * (AT_WORK_S * 10 if early else AT_WORK_S))
        process.kill()


def kill_changed(spoor, pid, changes):
    """Attaches, changes the filter, and kills spoor."""
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", "-M", "*", str(pid)]) as process:
        deadline = time.monotonic() + TIMEOUT
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(process.poll() is None and time.monotonic() < deadline, "attach cannot be controlled")
            time.sleep(0.01)
        for change in changes:
            done = run([spoor.path, "ctl", str(pid), *change])
            check(done.status == 0, f"ctl {change} ends with {done.status}: {done.stderr}")
        process.kill()


def detach(spoor, pid):
    return run([spoor.path, "detach", str(pid)])


def test(spoor, command):
    with running(command) as process:
        pid, before = process.pid, code_of(process.pid)
        for number in range(ROUNDS):
            kill_at_work(spoor, pid, WAYS[number % len(WAYS)])
            check(process.poll() is None, f"round {number}: it has ended with {process.poll()}")
            done = detach(spoor, pid)
            check(done.status == 0, f"round {number}: detach ends with {done.status}: {done.stderr}; "
                  f"the program's end: {process.poll()}")
            check_left(pid, before)
        for changes in CHANGES:
            kill_changed(spoor, pid, changes)
            done = detach(spoor, pid)
            check(done.status == 0 and not done.stderr, f"{changes}: detach ends with {done}")
            check_left(pid, before)
        done = detach(spoor, pid)
        check(done.status == 0 and b"nothing of spoor" in done.stderr, f"a clean process: {done}")
        kill_at_work(spoor, pid, [])
        info = attach_until_seen(spoor, pid, "-M", "*")
        check(info["events"]["entry"] > 0, "attach after a kill: no event")
        check_left(pid, before)


if __name__ == "__main__":
    program = [os.path.realpath(sys.argv[2]), *sys.argv[3:]]
    subject = Spoor(sys.argv[1])
    main(lambda: test(subject, program))

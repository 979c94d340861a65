#!/usr/bin/env python3
"""A program sends and receives by system calls that return only when all bytes are transferred. spoor stops them
half-way by attach, detach, a change of the filter, or when it is killed. Each call still transfers all bytes.

    partial_transfers.py [--own] [--visits=N] SPOOR TRANSFERS PARTIAL_TRANSFERS

The programs are in programs/. --own: traces only the programs' own functions, for slow emulated machines.
"""
import argparse
import os
import random
import subprocess
import time

from attach import TIMEOUT, Spoor, attach, attach_for, check, check_left, code_of, main, run, running, states_of
from harness import SEED

DICE = random.Random(SEED or 1)
ALL, OWN = ([], ["-M", "*"], ["-M", "*", "--overflow=wait"]), ([], ["--overflow=wait"])


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--own", dest="ways", action="store_const", const=OWN, default=ALL)
    parser.add_argument("--visits", type=int, default=9, help="changes and kills are as many, and fewer")
    parser.add_argument("spoor", type=Spoor)
    parser.add_argument("programs", nargs=2, type=os.path.realpath)
    return parser.parse_args()


def await_here(spoor, pid, recorder):
    until = time.monotonic() + TIMEOUT
    while run([spoor.path, "ctl", str(pid), "status"]).status:
        check(recorder.poll() is None and time.monotonic() < until, f"does not begin: {recorder.returncode}")


def attach_and_detach(how, program):
    with running([program, "whole"]) as process:
        before = code_of(process.pid)
        for number in range(how.visits):
            attach_for(how.spoor, process.pid, "50ms", *how.ways[number % len(how.ways)])
            check_left(process.pid, before)


def change(how, program):
    """Changes of the filter. spoor detaches from one program during a pause, from the other while it traces."""
    spoor = how.spoor
    with running([program, "whole"]) as process:
        command = [spoor.path, "attach", "-q", "-o", "trace", str(process.pid)]
        with subprocess.Popen(command) as recorder:
            await_here(spoor, process.pid, recorder)
            for number in range(how.visits + how.programs.index(program)):
                done = run([spoor.path, "ctl", str(process.pid), ("pause", "resume")[number % 2]])
                check(done.status == 0, f"change {number}: {done}")
            check(run([spoor.path, "ctl", str(process.pid), "stop"]).status == 0, "is not stopped")


def kills(how):
    return max(how.visits // 3, 1)


def await_runs(pid):
    """Waits until the threads run. A spoor that is killed while they are stopped leaves interrupted calls as they
    are: they return a partial count."""
    while "t" in states_of(pid):
        time.sleep(0.001)


def kill_at_work(how, pid):
    with subprocess.Popen([how.spoor.path, "attach", "-q", "-o", "trace", *how.ways[1], str(pid)]) as recorder:
        await_here(how.spoor, pid, recorder)
        time.sleep(DICE.random() * 0.02)
        await_runs(pid)
        recorder.kill()


def kill_during_calls(how, program):
    """After a kill calls go on without spoor. "spoor detach" interrupts some of them, and they still complete."""
    with running([program, "whole"]) as process:
        kill_at_work(how, process.pid)
        time.sleep(0.2)
    for _ in range(kills(how)):
        with running([program, "parts"]) as process:
            before = code_of(process.pid)
            kill_at_work(how, process.pid)
            done = run([how.spoor.path, "detach", str(process.pid)])
            check(done.status == 0, f"detach: {done}")
            check_left(process.pid, before)


def kill_during_stuck_call(how, program):
    """A killed spoor leaves a thread in the remainder of a call that never completes."""
    with running([program, "stuck"]) as process:
        before = code_of(process.pid)
        for _ in range(kills(how)):
            time.sleep(0.1)
            with subprocess.Popen([how.spoor.path, "attach", "-q", "-o", "trace", str(process.pid)]) as recorder:
                await_here(how.spoor, process.pid, recorder)
                recorder.kill()
        done = run([how.spoor.path, "detach", str(process.pid)])
        check(done.status == 0, f"detach: {done}")
        check_left(process.pid, before)


def detach_with_progress(spoor, program):
    """detach waits for remainders that make progress, and says so if it takes long. Some end before that."""
    with running([program, "slow"]) as process:
        before = code_of(process.pid)
        time.sleep(0.1)
        for _ in range(8):
            done = attach(spoor, process.pid, "--duration=50ms", "--overflow=wait")
            check(done.status == 0, f"attach: {done}")
            check(b"the system call ends early" not in done.stderr, f"detach does not wait: {done}")
            check_left(process.pid, before)
            if b"spoor waits for that" in done.stderr:
                return
            time.sleep(DICE.random() * 3)
        check(False, f"spoor does not say that it waits: {done}")


def detach_without_progress(spoor, program):
    """detach does not wait for a remainder without progress. The call returns early, and spoor says so."""
    with running([program, "stuck"]) as process:
        before = code_of(process.pid)
        time.sleep(0.1)  # if the call does not block by then, it does at spoor's next visit
        for _ in range(2):
            done = attach(spoor, process.pid, "--duration=50ms")
            check(done.status == 0, f"attach: {done}")
            check_left(process.pid, before)
            if b"the system call ends early" in done.stderr:
                return
        check(False, f"spoor does not say that the call ends early: {done}")


def test(how):
    for one in attach_and_detach, change, kill_during_calls:
        for program in how.programs:
            one(how, program)
    kill_during_stuck_call(how, how.programs[0])
    detach_with_progress(how.spoor, how.programs[0])
    detach_without_progress(how.spoor, how.programs[0])


if __name__ == "__main__":
    arguments = parse()
    main(lambda: test(arguments))

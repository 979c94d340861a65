#!/usr/bin/env python3
"""A program sends and receives in calls that wait until all is done: each does all, though spoor stops them half-way,
when it comes and goes, when what is traced changes, and when it is killed meanwhile.

    partial_transfers.py [--own] [--visits=N] SPOOR TRANSFERS GATHERS

Of programs/. --own: only the programs' own functions are traced, which machines that are emulated have time for.
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


def come_and_go(how, program):
    with running([program, "whole"]) as process:
        before = code_of(process.pid)
        for number in range(how.visits):
            attach_for(how.spoor, process.pid, "50ms", *how.ways[number % len(how.ways)])
            check_left(process.pid, before)


def change(how, program):
    """Of one program spoor leaves while it pauses, of the other while it traces."""
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
    """Who dies while the program stands leaves calls that its stop has cut short as they are: what was done is returned."""
    while "t" in states_of(pid):
        time.sleep(0.001)


def kill_at_work(how, pid):
    with subprocess.Popen([how.spoor.path, "attach", "-q", "-o", "trace", *how.ways[1], str(pid)]) as recorder:
        await_here(how.spoor, pid, recorder)
        time.sleep(DICE.random() * 0.02)
        await_runs(pid)
        recorder.kill()


def be_killed(how, program):
    """Calls go on alone; to remove what is left cuts some short, and does no harm."""
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


def be_killed_meanwhile(how, program):
    """Of a call that nobody takes the rest of, a killed spoor leaves a thread in that."""
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


def wait_long(spoor, program):
    """Rests that get on are waited for, which is said when it takes long: some come to their ends before that."""
    with running([program, "slow"]) as process:
        before = code_of(process.pid)
        time.sleep(0.1)
        for _ in range(8):
            done = attach(spoor, process.pid, "--duration=50ms", "--overflow=wait")
            check(done.status == 0, f"attach: {done}")
            check(b"that call ends early" not in done.stderr, f"does not wait: {done}")
            check_left(process.pid, before)
            if b"spoor waits for that" in done.stderr:
                return
            time.sleep(DICE.random() * 3)
        check(False, f"is not told: {done}")


def wait_in_vain(spoor, program):
    """What nobody takes is not waited for: all runs meanwhile, and then the call ends, which is said."""
    with running([program, "stuck"]) as process:
        before = code_of(process.pid)
        time.sleep(0.1)  # if it is not stuck by then, it waits for spoor's next visit
        for _ in range(2):
            done = attach(spoor, process.pid, "--duration=50ms")
            check(done.status == 0, f"attach: {done}")
            check_left(process.pid, before)
            if b"that call ends early" in done.stderr:
                return
        check(False, f"is not told: {done}")


def test(how):
    for one in come_and_go, change, be_killed:
        for program in how.programs:
            one(how, program)
    be_killed_meanwhile(how, how.programs[0])
    wait_long(how.spoor, how.programs[0])
    wait_in_vain(how.spoor, how.programs[0])


if __name__ == "__main__":
    arguments = parse()
    main(lambda: test(arguments))

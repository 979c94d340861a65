#!/usr/bin/env python3
"""Kills spoor with SIGKILL at twenty moments while a program runs under it. The program ends with the right result,
and the trace up to that moment is readable. Half of the moments are counted from the start of spoor, the others from
the first events in the file: on a busy machine these come late.

    killed.py SPOOR PROGRAM
"""
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time

from harness import Failure, Spoor, check, main, run

TIMES = 20
PR_SET_CHILD_SUBREAPER = 36
LEAST = TIMES // 4  # so many kills must hit the running program, and so many must leave a readable trace
NOT_BEGUN = 125  # status of spoor's child if it has not executed the program yet
NOT_RECORDED = b"is empty: nothing was recorded", b"is cut off before anything was recorded"
PATIENCE_S = 60
EARLY_S = 0.1
WITH_EVENTS = 10_000  # bytes: before the first events a trace has fewer


def wait_for_orphan(deadline):
    """The exit status of the orphaned program. None: spoor was killed before it had a child."""
    while time.monotonic() < deadline:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    raise Failure("the program does not end after spoor was killed")


def kill_orphans():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as children:
        for child in children.read().split():
            os.kill(int(child), signal.SIGKILL)
            os.waitpid(int(child), 0)


def has_events():
    try:
        return os.path.getsize("trace.part") > WITH_EVENTS
    except FileNotFoundError:
        return False


def wait_for_events(tracer):
    while tracer.poll() is None and not has_events():
        time.sleep(0.001)


def kill_once(spoor, program, delay, options, right):
    command = spoor.command(options, [*program, "result"])
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracer:
        if delay > EARLY_S:
            wait_for_events(tracer)
            delay -= EARLY_S
        time.sleep(delay)
        ended = tracer.poll() is not None
        tracer.kill()
    if ended:
        check(tracer.returncode == 0, f"spoor ended with {tracer.returncode} before it was killed")
        return False
    status = wait_for_orphan(time.monotonic() + PATIENCE_S)
    if status is None or (status == NOT_BEGUN and not os.path.exists("result")):
        return False
    check(status == 0, f"status {status} after spoor was killed at {delay:.3f} s")
    with open("result", "rb") as result:
        check(result.read() == right, f"wrong result after spoor was killed at {delay:.3f} s")
    os.remove("result")
    return True


def has_no_call(done):
    """Whether "report" has read a trace that was cut off before the first event was written."""
    return done.status == 1 and b"is incomplete" in done.stderr and json.loads(done.stdout) == []


def read_left(spoor, delay):
    """Whether the killed spoor has left a readable trace with calls. It has not if it was killed before it recorded,
    or before it wrote, which may take long on a busy machine."""
    left = next((name for name in ("trace.part", "trace") if os.path.exists(name)), None)
    if not left:
        return False
    done = run([spoor.path, "report", "--json", left])
    check(done.status == 0 or has_no_call(done) or any(words in done.stderr for words in NOT_RECORDED),
          f"report of a trace killed at {delay:.3f} s: {done.stderr.decode()}")
    os.remove(left)
    return done.status == 0


def test(spoor, program):
    alone = run(program)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    dice, hits, read = random.Random(7), 0, 0
    for number in range(TIMES):
        delay = dice.uniform(EARLY_S, 1.0) if number % 2 else dice.uniform(0.005, EARLY_S)
        options = ["-M", "*"] if number % 3 == 0 else ["--buffer", "64K"] if number % 3 == 1 else []
        hits += kill_once(spoor, program, delay, options, alone.stdout)
        read += read_left(spoor, delay)
    print(f"{TIMES} kills: {hits} hit the running program, {read} left a readable trace")
    check(hits >= LEAST, f"the program had ended, or not begun, when spoor was killed: {TIMES - hits} times")
    check(read >= LEAST, f"no readable trace: {TIMES - read} times")


if __name__ == "__main__":
    tracer, words = Spoor(sys.argv[1]), [os.path.realpath(sys.argv[2]), *sys.argv[3:]]
    try:
        main(lambda: test(tracer, words))
    finally:
        kill_orphans()

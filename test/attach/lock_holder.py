#!/usr/bin/env python3
"""spoor comes to a program whose threads hold the locks of malloc and the dynamic linker, or that is stopped as a job is;
and it stays stopped.

    lock_holder.py SPOOR PROGRAM

PROGRAM is programs/lock_holder.c.
"""
import os
import re
import signal
import subprocess
import sys
import time

from attach import (TIMEOUT, Spoor, attach_for, attach_until_seen, check, check_left, code_of, main, run, running,
                    states_of)

WAYS = ([], ["-M", "*"], ["-M", "*", "--overflow=wait"])


def await_state(pid, wanted, what):
    """Until all threads are stopped, or none is."""
    until = time.monotonic() + TIMEOUT
    while states_of(pid).isdisjoint("Tt") != (wanted == "runs") or (wanted != "runs" and len(states_of(pid)) > 1):
        check(time.monotonic() < until, f"{what}: {states_of(pid)}, not {wanted}")
        time.sleep(0.001)


def await_calls(spoor, pid):
    """Until spoor, which is there, has seen some."""
    until = time.monotonic() + TIMEOUT
    while not re.search(rb"\b[1-9]\d* events", run([spoor.path, "ctl", str(pid), "status"]).stdout):
        check(time.monotonic() < until, "no call is seen while it runs")


def come_to_holders(spoor, pid):
    before = code_of(pid)
    for way in WAYS:
        info = attach_until_seen(spoor, pid, *way)
        check(info["events"]["entry"] > 0, f"{way}: no event")
        check_left(pid, before)


def come_to_stopped(spoor, pid):
    """It stays stopped when spoor leaves, and while it is there; then it goes on when it is continued."""
    before = code_of(pid)
    os.kill(pid, signal.SIGSTOP)
    await_state(pid, "stopped", "before spoor comes")
    info = attach_for(spoor, pid, "50ms")
    check(info["events"]["entry"] == 0, f"it ran: {info}")
    check(states_of(pid) == {"T"}, f"not stopped when spoor has left: {states_of(pid)}")
    check_left(pid, before)
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", str(pid)]) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"attach ended: {recorder.returncode}")
        check(states_of(pid) <= {"T", "t"}, f"it runs when spoor has come: {states_of(pid)}")
        os.kill(pid, signal.SIGCONT)
        await_state(pid, "runs", "continued")
        await_calls(spoor, pid)
        os.kill(pid, signal.SIGSTOP)
        await_state(pid, "stopped", "stopped again")
        for change in "pause", "resume", "stop":
            done = run([spoor.path, "ctl", str(pid), change])
            check(done.status == 0, f"{change}: {done}")
    check(recorder.returncode == 0, f"attach ended with {recorder.returncode}")
    check(states_of(pid) == {"T"}, f"not stopped when spoor has left again: {states_of(pid)}")
    check_left(pid, before)
    # Of its two threads that run the machine may have let either run by then.
    check(any(row["function"] in ("fib", "is_later") and row["calls"] > 0 for row in spoor.report()),
          "it was not seen while it ran")
    os.kill(pid, signal.SIGCONT)
    await_state(pid, "runs", "continued without spoor")


def test(spoor, program):
    with running([program]) as process:
        come_to_holders(spoor, process.pid)
        come_to_stopped(spoor, process.pid)
        come_to_holders(spoor, process.pid)


if __name__ == "__main__":
    subject, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, given))

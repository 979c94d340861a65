#!/usr/bin/env python3
"""spoor attaches to a program whose threads hold the locks of malloc and of the dynamic linker. It also attaches to
a program in group-stop, which stays stopped.

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
    """Waits until all threads are stopped, or none is."""
    until = time.monotonic() + TIMEOUT
    while states_of(pid).isdisjoint("Tt") != (wanted == "runs") or (wanted != "runs" and len(states_of(pid)) > 1):
        check(time.monotonic() < until, f"{what}: {states_of(pid)}, not {wanted}")
        time.sleep(0.001)


def await_calls(spoor, pid):
    """Waits until the attached spoor has recorded calls."""
    until = time.monotonic() + TIMEOUT
    while not re.search(rb"\b[1-9]\d* events", run([spoor.path, "ctl", str(pid), "status"]).stdout):
        check(time.monotonic() < until, "no call is recorded while the program runs")


def attach_to_holders(spoor, pid):
    before = code_of(pid)
    for way in WAYS:
        info = attach_until_seen(spoor, pid, *way)
        check(info["events"]["entry"] > 0, f"{way}: no event")
        check_left(pid, before)


def attach_to_stopped(spoor, pid):
    """The program stays stopped during the attach and after it, and runs again after SIGCONT."""
    before = code_of(pid)
    os.kill(pid, signal.SIGSTOP)
    await_state(pid, "stopped", "before spoor comes")
    info = attach_for(spoor, pid, "50ms")
    check(info["events"]["entry"] == 0, f"the stopped program ran: {info}")
    check(states_of(pid) == {"T"}, f"not stopped after detach: {states_of(pid)}")
    check_left(pid, before)
    with subprocess.Popen([spoor.path, "attach", "-q", "-o", "trace", str(pid)]) as recorder:
        while run([spoor.path, "ctl", str(pid), "status"]).status:
            check(recorder.poll() is None, f"attach ended: {recorder.returncode}")
        check(states_of(pid) <= {"T", "t"}, f"not stopped after attach: {states_of(pid)}")
        os.kill(pid, signal.SIGCONT)
        await_state(pid, "runs", "continued")
        await_calls(spoor, pid)
        os.kill(pid, signal.SIGSTOP)
        await_state(pid, "stopped", "stopped again")
        for change in "pause", "resume", "stop":
            done = run([spoor.path, "ctl", str(pid), change])
            check(done.status == 0, f"{change}: {done}")
    check(recorder.returncode == 0, f"attach ended with {recorder.returncode}")
    check(states_of(pid) == {"T"}, f"not stopped after the second detach: {states_of(pid)}")
    check_left(pid, before)
    # Two threads compute. The scheduler may have run only one of them by now.
    check(any(row["function"] in ("fib", "is_later") and row["calls"] > 0 for row in spoor.report()),
          "no call was recorded while the program ran")
    os.kill(pid, signal.SIGCONT)
    await_state(pid, "runs", "continued without spoor")


def test(spoor, program):
    with running([program]) as process:
        attach_to_holders(spoor, process.pid)
        attach_to_stopped(spoor, process.pid)
        attach_to_holders(spoor, process.pid)


if __name__ == "__main__":
    subject, given = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, given))

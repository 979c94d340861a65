#!/usr/bin/env python3
"""spoor has seized all threads of a program. Before it interrupts the first, a thread execs, forks, creates a thread,
or ends. The program ends with the right result. The attach works or is undone, and the next attach works.

    task_changes.py SPOOR STRIKE PROGRAM

STRIKE is a library that acts at the N-th request (test/fault/programs/fail_at_step.c), PROGRAM is
programs/task_changes.c.
"""
import contextlib
import os
import subprocess
import sys

from attach import (TIMEOUT, Failure, Spoor, attach_until_seen, check, check_left, code_of, main,
                    run, running, signs_of_spoor, threads_of)

WAYS = ([], ["-M", "*"])
EXECS = "exec", "takeover"
STAYING = "fork", "vfork", "thread", "end", "first"  # the same program goes on
EXITED = 7


def attach_and_strike(spoor, strike, pid, way):
    command = [spoor.path, "attach", "-o", "trace", "--duration=20ms", *way, str(pid)]
    return run(command, env=dict(os.environ, LD_PRELOAD=strike, STRIKE="between:"))


def alive(pid):
    """The folder in /proc of a thread that has not ended (the first thread may have). The order of thread IDs does
    not tell which: the kernel reuses them."""
    for tid in threads_of(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{tid}/maps", encoding="utf-8") as maps:
            if maps.read():
                return f"{pid}/task/{tid}"
    raise Failure("no thread of the program is alive")


def test_staying(spoor, strike, program, what, way):
    with running([program, what]) as process:
        before = code_of(process.pid)
        done = attach_and_strike(spoor, strike, process.pid, way)
        check(done.status == 0, f"{what} {way}: {done}")
        check_left(alive(process.pid), before)
        check(attach_until_seen(spoor, process.pid, *way)["events"]["entry"] > 0, f"{what} {way}: no event")
        names = {row["function"] for row in spoor.report() if not row["calls"]}
        check("computing" in names, f"{what} {way}: open calls: {names}")
        check_left(alive(process.pid), before)


def test_exec(spoor, strike, program, what, way):
    with running([program, what]) as process:
        done = attach_and_strike(spoor, strike, process.pid, way)
        check(done.status == 0 or done.status == 1 and b"has begun another program meanwhile: try again" in done.stderr,
              f"{what} {way}: {done}")
        check(process.stdout.readline() == b"ready\n", f"{what} {way}: does not begin again")
        check(not signs_of_spoor(process.pid), f"{what} {way}: {signs_of_spoor(process.pid)}")
        before = code_of(process.pid)
        check(attach_until_seen(spoor, process.pid, *way)["events"]["entry"] > 0, f"{what} {way}: no event")
        check_left(process.pid, before)


def test_exit(spoor, strike, program, way):
    with subprocess.Popen([program, "exit"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        check(process.stdout.readline() == b"ready\n", "it does not begin")
        done = attach_and_strike(spoor, strike, process.pid, way)
        check(done.status == 1 and b"has ended meanwhile" in done.stderr and done.stderr.count(b"\n") == 1,
              f"exit {way}: {done}")
        check(process.wait(TIMEOUT) == EXITED, f"exit {way}: status {process.returncode}")


def test(spoor, strike, program):
    os.mkfifo("now")
    for way in WAYS:
        for what in STAYING:
            test_staying(spoor, strike, program, what, way)
        for what in EXECS:
            test_exec(spoor, strike, program, what, way)
        test_exit(spoor, strike, program, way)


if __name__ == "__main__":
    files = [os.path.realpath(word) for word in sys.argv[2:4]]
    subject = Spoor(sys.argv[1])
    main(lambda: test(subject, *files))

#!/usr/bin/env python3
"""A program with a function that writes the gs base by an instruction is traced until it calls that.

    gs_writer.py SPOOR PROGRAM LIBRARY

PROGRAM is programs/gs_writer.c, LIBRARY the same as a library.
"""
import os
import signal
import subprocess
import sys
import time

from fault import PATIENCE_S, SKIP, Spoor, check, check_right, main, run, stderr_of
from gs_base import Waiting, check_message

CALLS = 1000  # of leaf, before the base is written
RELEASED = ("threads", "child", "library", "vfork", "writable")
WAYS = [], ["-M", "*"], ["-N", "take"], ["-F", "leaf"], ["-M", "*", "--no-follow"], ["-M", "*", "--overflow=overwrite"]


def leaf_calls(spoor):
    return sum(row["calls"] for row in spoor.report() if row["function"] == "leaf")


def record(spoor, way, command):
    """As Spoor.record(), with messages."""
    return run([spoor.path, "record", "-o", "trace", *way, "--", *command])


def launched(spoor, program, library):
    """Not called: a whole trace, and nothing is said. Called: it is released there, and right."""
    for way in WAYS:
        done = record(spoor, way, [program, "never"])
        check_right(done, f"never, {way}")
        check(leaf_calls(spoor) == CALLS and "gs base" not in stderr_of(done), f"never, {way}: {stderr_of(done)}")
    done = record(spoor, ["-M", "*"], [program, "loads", library])
    check_right(done, "loads")
    check(leaf_calls(spoor) == 2 * CALLS and "gs base" not in stderr_of(done), f"loads: {stderr_of(done)}")
    for mode in RELEASED:
        for way in ([["-M", "*"]] if mode == "library" else [[], ["-M", "*"]]):  # else nothing of it is traced
            done = record(spoor, way, [program, mode, library])
            check_right(done, f"{mode}, {way}")
            check_message(stderr_of(done), f"{mode}, {way}")
            calls = leaf_calls(spoor)
            most = {"child": 3 * CALLS, "library": 2 * CALLS}.get(mode, CALLS)
            check(calls == most, f"{mode}, {way}: {calls} calls")
    check_right(record(spoor, ["--no-follow"], [program, "child"]), "child, not followed")
    check(leaf_calls(spoor) == 2 * CALLS, "child, not followed: calls")


def paused(spoor, program):
    """Guards are out in a pause. At its end spoor sees that the base is the program's."""
    with Waiting(program, "pauses") as waiting, \
            subprocess.Popen([spoor.path, "attach", "-o", "trace", str(waiting.process.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        try:
            waiting.await_spoor()
            spoor.view("ctl", str(waiting.process.pid), "pause")
            waiting.process.stdin.write(b"x")
            waiting.process.stdin.flush()
            check(waiting.process.stdout.readline() == b"taken\n", "pauses: output")
            spoor.view("ctl", str(waiting.process.pid), "resume")
            waiting.end()
            text = tracer.communicate(timeout=PATIENCE_S)[1].decode()
        finally:
            tracer.kill()
        check("keeps something of its own in the gs base" in text, f"pauses: {text}")


def attached(spoor, program):
    with Waiting(program, "inside") as waiting:
        done = run([spoor.path, "attach", "-o", "trace", str(waiting.process.pid)])
        check(done.status == 1 and "runs a function that may write the gs base" in stderr_of(done),
              f"inside: {done.status}, {stderr_of(done)}")
        check_message(stderr_of(done), "inside")
        waiting.end()
    with Waiting(program, "waits") as waiting, \
            subprocess.Popen([spoor.path, "attach", "-o", "trace", str(waiting.process.pid)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as tracer:
        try:
            waiting.await_spoor()
            waiting.end()
            text = tracer.communicate(timeout=PATIENCE_S)[1].decode()
        finally:
            tracer.kill()
        check(tracer.returncode == 0, f"attach: {tracer.returncode}, {text}")
        check_message(text, "attach")


def kill(tracer):
    tracer.kill()
    tracer.wait()


def wait_at_guard(pid):
    """Waits until the process, whose input has ended, uses its processor: a waiting thread spins."""
    def ticks():
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return int(stat.read().rpartition(")")[2].split()[11])
    first, deadline = ticks(), time.monotonic() + PATIENCE_S
    while ticks() < first + 5:
        check(time.monotonic() < deadline, "no thread waits at the guard")
        time.sleep(0.01)


def killed(spoor, program):
    """spoor is killed: after spoor detach the base is the program's. A thread that waits at the guard goes on; what is
    traced is not called then, so nothing uses the base as spoor's."""
    for detaches in True, False:
        with Waiting(program, "waits") as waiting, \
                subprocess.Popen([spoor.path, "attach", "-o", "trace", "-F", "leaf", str(waiting.process.pid)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracer:
            try:
                waiting.await_spoor()
                if detaches:
                    kill(tracer)
                    spoor.view("detach", str(waiting.process.pid))
                    check(waiting.read_text() == waiting.text, "killed: text")
                else:
                    tracer.send_signal(signal.SIGSTOP)
                    waiting.process.stdin.close()
                    waiting.process.stdin = None
                    wait_at_guard(waiting.process.pid)
                    kill(tracer)
                waiting.end()
            finally:
                tracer.kill()


def test(spoor, program, library):
    if run([program]).status == SKIP:
        print("this processor, or its kernel, does not let programs write the gs base")
        sys.exit(SKIP)
    launched(spoor, program, library)
    attached(spoor, program)
    paused(spoor, program)
    killed(spoor, program)


if __name__ == "__main__":
    subject = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3])
    main(lambda: test(*subject))

#!/usr/bin/env python3
"""Reads of captured values that fault leave nothing in the program: its signals, and how it ends.

    wild_reads.py SPOOR PROGRAM

PROGRAM is programs/wild_reads.c.
"""
import os
import subprocess
import sys
import time

from fault import RIGHT, TIMEOUT, Spoor, check, check_right, main, run, stderr_of

VALUES = ["-a", "-M", "*"]


def values_of(spoor, function, trace="trace"):
    """The first value of each call of FUNCTION, as replay shows it."""
    calls = [line.split(f" {function}(", 1) for line in spoor.view("replay", trace).decode().splitlines()]
    return [call[1].split(", n=")[0].split(") ")[0] for call in calls if len(call) == 2]


def test_signals(spoor, program):
    for how in "all", "ignored", "handled":
        check_right(run([program, how]), f"{how} alone")
        check_right(spoor.record(VALUES, [program, how]), how)
        check(any(value.endswith(" ?") for value in values_of(spoor, "use")), f"{how}: no read has faulted")


def test_withdrawal(spoor, program):
    done = run([spoor.path, "record", "-o", "trace", *VALUES, "--overflow=wait", program, "often"])
    check_right(done, "often")
    lines = [line for line in stderr_of(done).splitlines() if "withdrawn" in line]
    check(len(lines) == 1 and lines[0].startswith("spoor: use: reads of its values were withdrawn"), stderr_of(done))
    values = values_of(spoor, "use")
    readable = [value for value in values if not value.endswith(" ?")]
    check(readable == ['text="early"'], f"readable texts of use(): {readable[:5]}")
    check(len(values) > 5000, f"only {len(values)} calls of use()")
    elsewhere = values_of(spoor, "use_elsewhere")
    check(elsewhere == ['text="elsewhere"'], f"values of use_elsewhere(): {elsewhere}")


def await_unreadable(spoor, trace, tracer):
    deadline = time.monotonic() + TIMEOUT
    while not (os.path.exists(trace) and values_of(spoor, "use", trace)):
        check(tracer.poll() is None and time.monotonic() < deadline, "no call is seen")
        time.sleep(0.05)


def test_attach(spoor, program, kill):
    with subprocess.Popen([program, "attached"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with subprocess.Popen([spoor.path, "attach", "-q", "-o", "attached", *VALUES, str(process.pid)]) as tracer:
            await_unreadable(spoor, "attached", tracer)
            if kill:
                tracer.kill()
                tracer.wait()
            process.stdin.write(b"\n")
            process.stdin.close()
            output = process.stdout.read()
        check(process.wait() == RIGHT and output == b"right\n", f"attached, kill {kill}: {process.returncode} {output}")


def test(spoor, program):
    test_signals(spoor, program)
    test_withdrawal(spoor, program)
    for kill in False, True:
        test_attach(spoor, program, kill)


if __name__ == "__main__":
    subject, wild = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, wild))

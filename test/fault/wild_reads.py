#!/usr/bin/env python3
"""Reads of captured values that fault leave nothing in the program: its signals, and how it ends.

    wild_reads.py SPOOR PROGRAM record|attach|attach-slowly

PROGRAM is programs/wild_reads.c. attach-slowly: on a machine where reads may fault less than 100 times a second. There
they are not withdrawn, so spoor is killed only while no pointer is wild: a kill at a read that faults is a known limit.
Where they are not withdrawn in time, attach does the same.
"""
import os
import subprocess
import sys
import time

from fault import RIGHT, TIMEOUT, Spoor, check, check_right, main, run, stderr_of

VALUES = ["-a", "-M", "*"]
AT_TRAPS = ["-a", "--tier=trap", "--trap-limit=1000000"]
AT_WORK_S = 1
WITHDRAWN_S = 20
ROUNDS_AFTER_KILL = 20
# How spoor ends, one time after the other.
ENDS = {"attach": ["terminate", "kill while paused", "kill", "kill"],
        "attach-slowly": ["terminate", "kill while paused", "kill while paused"]}


def values_of(spoor, function, trace="trace"):
    """The first value of each call of FUNCTION, as replay shows it."""
    calls = [line.split(f" {function}(", 1) for line in spoor.view("replay", trace).decode().splitlines()]
    return [call[1].split(", n=")[0].split(") ")[0] for call in calls if len(call) == 2]


def test_signals(spoor, program):
    for how in "all", "ignored", "handled":
        check_right(run([program, how]), f"{how} alone")
        check_right(spoor.record(VALUES, [program, how]), how)
        check(any(value.endswith(" ?") for value in values_of(spoor, "use")), f"{how}: no read has faulted")
    check(spoor.info()["withdrawn"] == {"reads": 0, "functions": 0}, f"{spoor.info()['withdrawn']}")
    check_right(spoor.record(AT_TRAPS, [program, "handled"]), "handled, at traps")
    check(any(value.endswith(" ?") for value in values_of(spoor, "use")), "no read has faulted at traps")


def test_withdrawal(spoor, program):
    done = run([spoor.path, "record", "-o", "trace", *VALUES, "--overflow=wait", program, "often"])
    check_right(done, "often")
    lines = [line for line in stderr_of(done).splitlines() if "withdrawn" in line]
    check(len(lines) == 1 and lines[0].startswith("spoor: use: reads of its values were withdrawn"), stderr_of(done))
    withdrawn, text = spoor.info()["withdrawn"], spoor.view("info", "trace").decode()
    check(withdrawn == {"reads": 1, "functions": 1}, f"info: {withdrawn}")
    check("\nwithdrawn  1 read of values in 1 function, since " in text, text)
    values = values_of(spoor, "use")
    readable = [value for value in values if not value.endswith(" ?")]
    check(readable == ['text="early"'], f"readable texts of use(): {readable[:5]}")
    check(len(values) > 5000, f"only {len(values)} calls of use()")
    elsewhere = values_of(spoor, "use_elsewhere")
    check(elsewhere == ['text="elsewhere"'], f"values of use_elsewhere(): {elsewhere}")


def await_recording(spoor, pid, tracer):
    """Until PID is recorded, and time has passed in which many reads fault."""
    deadline = time.monotonic() + TIMEOUT
    while run([spoor.path, "ctl", str(pid), "status"]).status:
        check(tracer.poll() is None and time.monotonic() < deadline, "attach cannot be controlled")
        time.sleep(0.05)
    time.sleep(AT_WORK_S)


def change_filter(spoor, pid, *words):
    done = run([spoor.path, "ctl", str(pid), "filter", *words])
    check(done.status == 0, f"ctl filter {words}: {stderr_of(done)}")


def order(process, word):
    """Sends WORD, whose last letter lets PROCESS pause, and waits until it pauses."""
    process.stdin.write(word)
    process.stdin.flush()
    check(process.stdout.readline() == b"paused\n", f"after {word}: the program has ended with {process.poll()}")


def await_withdrawal(errors):
    """Whether spoor, which prints to the file ERRORS, says in time that it reads no wild pointer any more."""
    deadline = time.monotonic() + WITHDRAWN_S
    while time.monotonic() < deadline:
        with open(errors, encoding="utf-8") as printed:
            if "use: reads of its values were withdrawn" in printed.read():
                return True
        time.sleep(0.05)
    return False


def end_recording(spoor, process, tracer, end):
    if end == "terminate":
        change_filter(spoor, process.pid, "-M", "*", "-A", "use")
        change_filter(spoor, process.pid, "-M", "*")
        tracer.terminate()
    elif end == "kill" and await_withdrawal("errors"):
        tracer.kill()
    else:
        order(process, b"p")
        tracer.kill()
        tracer.wait()
        for _ in range(ROUNDS_AFTER_KILL):
            order(process, b"gp")
        process.stdin.write(b"g")
        process.stdin.flush()


def test_attach(spoor, program, ends):
    """Pointers lead nowhere or into memory that comes and goes, while spoor comes, changes its filter, and is killed."""
    with subprocess.Popen([program, "attached"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        for number, end in enumerate(ends):
            trace = f"attached{number}"
            command = [spoor.path, "attach", "-o", trace, *VALUES, str(process.pid)]
            with open("errors", "wb") as errors, subprocess.Popen(command, stderr=errors) as tracer:
                await_recording(spoor, process.pid, tracer)
                end_recording(spoor, process, tracer, end)
            check(process.poll() is None, f"{end}: the program has ended with {process.poll()}")
            done = run([spoor.path, "detach", str(process.pid)])
            check(done.status == 0, f"detach: {stderr_of(done)}")
        texts = {text for text in values_of(spoor, "use_elsewhere", "attached0") if not text.endswith(" ?")}
        check(texts and texts <= {'text="here"', 'text=""'}, f"texts of use_elsewhere(): {texts}")
        process.stdin.write(b"\n")
        process.stdin.close()
        output = process.stdout.read()
        check(process.wait() == RIGHT and output == b"right\n", f"attached: {process.returncode} {output}")


def test(spoor, program, how):
    if how in ENDS:
        test_attach(spoor, program, ENDS[how])
        return
    test_signals(spoor, program)
    test_withdrawal(spoor, program)


if __name__ == "__main__":
    subject, wild = Spoor(sys.argv[1]), os.path.realpath(sys.argv[2])
    main(lambda: test(subject, wild, sys.argv[3]))
